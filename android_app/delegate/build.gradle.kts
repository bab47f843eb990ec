// The library for apps: the Java API, and libquadra.so as `./inv apk` or `./inv build --abi` left it.
plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "org.quadra.gpu"
    compileSdk = libs.versions.android.compileSdk.get().toInt()

    defaultConfig {
        minSdk = libs.versions.android.minSdk.get().toInt()
        consumerProguardFiles("consumer-rules.pro")
    }

    compileOptions {
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }

    // Bazel builds the native code; `./inv apk` puts it here, in a folder per ABI.
    sourceSets["main"].jniLibs.srcDir("../../.cache/android/libs")
}

dependencies {
    // The app brings the interpreter, TFLite's or LiteRT's: an app may have their classes only once.
    compileOnly(libs.tensorflow.lite.api)
}

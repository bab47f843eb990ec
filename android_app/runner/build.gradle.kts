// The test app: an instrumentation that runs a model and leaves a run folder. `./inv apk` makes it without Gradle.
plugins {
    alias(libs.plugins.android.application)
}

android {
    namespace = "org.quadra.runner"
    compileSdk = libs.versions.android.compileSdk.get().toInt()
    enableKotlin = false // all sources are Java

    defaultConfig {
        applicationId = libs.versions.applicationId.get()
        minSdk = libs.versions.android.minSdk.get().toInt()
        targetSdk = libs.versions.android.targetSdk.get().toInt()
        versionCode = libs.versions.quadra.code.get().toInt()
        versionName = libs.versions.quadra.name.get()
    }

    compileOptions {
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }

    // Libraries lie in the APK as they are, and are loaded from there.
    packaging.jniLibs.useLegacyPackaging = false
}

dependencies {
    implementation(project(":delegate"))
    // LiteRT's libraries are for pages of 16 KB; TFLite's are what the tests run: gradle -Pquadra.litert assembleDebug
    implementation(
        if (providers.gradleProperty("quadra.litert").isPresent) libs.bundles.litert else libs.bundles.tflite,
    )
    // TFLite's stock GPU delegate, to measure beside ours: gradle -Pquadra.peers assembleDebug
    if (providers.gradleProperty("quadra.peers").isPresent) {
        runtimeOnly(libs.bundles.shipped)
    }
}

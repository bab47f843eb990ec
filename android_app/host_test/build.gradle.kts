// Tests of the API and the runner on a desktop JVM, on Android's own classes (Robolectric).
plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "org.quadra.host"
    compileSdk = libs.versions.android.compileSdk.get().toInt()
    enableKotlin = false // all sources are Java

    defaultConfig {
        minSdk = libs.versions.android.minSdk.get().toInt()
    }

    compileOptions {
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }

    // An app's classes cannot be depended on: its sources are compiled again, for the tests.
    sourceSets["main"].java.directories.add("../runner/src/main/java")

    testOptions.unitTests.all {
        // The delegate for this machine: ./inv build, then gradle -Pquadra.library=FOLDER test
        it.systemProperty("java.library.path", providers.gradleProperty("quadra.library").getOrElse(""))
    }
}

dependencies {
    implementation(project(":delegate"))
    implementation(libs.bundles.tflite)
    implementation(libs.bundles.robolectric)
    implementation(libs.bundles.junit)
}

// The library for apps: the Java API, and the native libraries as Bazel builds them. `./inv aar` makes it without Gradle.
plugins {
    alias(libs.plugins.android.library)
}

// Built elsewhere: gradle -Pquadra.libraries=FOLDER, with ABI/libquadra.so in it. Else ./inv builds them.
val given = providers.gradleProperty("quadra.libraries")
val libraries = if (given.isPresent) file(given.get()) else file("../../.cache/android/libs")

android {
    namespace = "org.quadra.gpu"
    compileSdk = libs.versions.android.compileSdk.get().toInt()
    enableKotlin = false // all sources are Java

    defaultConfig {
        minSdk = libs.versions.android.minSdk.get().toInt()
        consumerProguardFiles("consumer-rules.pro")
    }

    compileOptions {
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }

    sourceSets["main"].jniLibs.directories.add(libraries.path)
}

// Bazel does nothing where nothing changed. Android Studio's Run button names the device's ABIs, the best one first.
val buildNative by tasks.registering(Exec::class) {
    description = "Builds libquadra.so and the accelerator for LiteRT."
    val abi = providers.gradleProperty("quadra.abi")
        .orElse(providers.gradleProperty("android.injected.build.abi").map { it.substringBefore(",") })
        .getOrElse("all")
    val repository = rootDir.parentFile
    val wanted = !given.isPresent
    onlyIf("no -Pquadra.libraries") { wanted }
    workingDir = repository
    commandLine("./inv", "build", "--abi", abi)
    doFirst {
        if (!System.getProperty("os.name").startsWith("Linux")) {
            throw GradleException(
                "Quadra: build the native libraries: ./inv runs on Linux only; next: run `./inv build --abi $abi` " +
                    "there, copy its .cache/android/libs to this machine, and add -Pquadra.libraries=FOLDER",
            )
        }
    }
}

// An app without them would run everything on the CPU, and say so only in a report.
val checkNative by tasks.registering {
    description = "Fails where there is no libquadra.so to package."
    dependsOn(buildNative)
    val folder = libraries
    doLast {
        if (folder.listFiles().orEmpty().none { it.resolve("libquadra.so").isFile }) {
            throw GradleException(
                "Quadra: package the native libraries: $folder has no ABI/libquadra.so; next: " +
                    "`./inv build --abi all` in the repository's root, or -Pquadra.libraries=FOLDER for another folder",
            )
        }
    }
}

tasks.named("preBuild") { dependsOn(checkNative) }

dependencies {
    // The app brings the interpreter, TFLite's or LiteRT's: an app may have their classes only once.
    compileOnly(libs.tensorflow.lite.api)
}

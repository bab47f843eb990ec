plugins {
    alias(libs.plugins.android.application) apply false
    alias(libs.plugins.android.library) apply false
}

// `gradle wrapper` makes ./gradlew and its jar, which are not in the repository. Android Studio needs neither.
tasks.wrapper {
    gradleVersion = libs.versions.gradle.get()
}

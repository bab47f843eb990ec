"""The test app and the native runner on a device: installed, started, listened to, their end understood."""

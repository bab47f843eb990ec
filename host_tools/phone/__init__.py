"""Phones and virtual devices over adb, its sole way to them."""

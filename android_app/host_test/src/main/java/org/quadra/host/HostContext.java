package org.quadra.host;

import android.app.ApplicationPackageManager;
import android.content.ContextWrapper;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.os.BatteryManager;
import android.os.Build;
import android.os.PowerManager;
import java.io.File;
import org.robolectric.Shadows;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.util.ReflectionHelpers;

/**
 * The runner's view of the device. System properties: quadra.package and quadra.version are the
 * app's, quadra.code_cache is its code cache folder, quadra.thermal the device's thermal status,
 * quadra.battery_ua its battery's current, quadra.build.FIELD a field of {@link Build}.
 */
final class HostContext extends ContextWrapper {
  private static final String BUILD = "quadra.build.";

  private final PackageManager packages;
  private final PowerManager power;
  private final BatteryManager battery;

  HostContext() {
    super(null);
    packages = Shadow.newInstanceOf(ApplicationPackageManager.class);
    PackageInfo own = new PackageInfo();
    own.packageName = getPackageName();
    own.versionName = System.getProperty("quadra.version");
    Shadows.shadowOf(packages).installPackage(own);
    power = Shadow.newInstanceOf(PowerManager.class);
    Shadows.shadowOf(power).setCurrentThermalStatus(Integer.getInteger("quadra.thermal", 0));
    battery = Shadow.newInstanceOf(BatteryManager.class);
    Shadows.shadowOf(battery)
        .setLongProperty(
            BatteryManager.BATTERY_PROPERTY_CURRENT_NOW,
            Long.getLong("quadra.battery_ua", Long.MIN_VALUE));
    for (String name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith(BUILD)) {
        String value = System.getProperty(name);
        ReflectionHelpers.setStaticField(Build.class, name.substring(BUILD.length()), value);
      }
    }
    String abis = System.getProperty("quadra.abis");
    if (abis != null) {
      ReflectionHelpers.setStaticField(Build.class, "SUPPORTED_ABIS", abis.split(","));
    }
  }

  @Override
  public String getPackageName() {
    return System.getProperty("quadra.package", "org.quadra.runner");
  }

  @Override
  public File getCodeCacheDir() {
    return new File(System.getProperty("quadra.code_cache", System.getProperty("java.io.tmpdir")));
  }

  @Override
  public PackageManager getPackageManager() {
    return packages;
  }

  @Override
  public Object getSystemService(String name) {
    if (BATTERY_SERVICE.equals(name)) {
      return battery;
    }
    return POWER_SERVICE.equals(name) ? power : null;
  }

  @Override
  public String getSystemServiceName(Class<?> service) {
    if (service == BatteryManager.class) {
      return BATTERY_SERVICE;
    }
    return service == PowerManager.class ? POWER_SERVICE : null;
  }
}

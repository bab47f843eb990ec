package org.quadra.runner;

import android.content.Context;
import android.content.pm.PackageManager;
import android.os.BatteryManager;
import android.os.Build;
import android.os.PowerManager;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.IOException;
import java.text.SimpleDateFormat;
import java.util.Arrays;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import org.quadra.gpu.CompatibilityList;
import org.tensorflow.lite.TensorFlowLite;

/** Facts about this device and its software, for environment.json. */
final class Facts {
  private static final String[] THERMAL = {
    "none", "light", "moderate", "severe", "critical", "emergency", "shutdown"
  };

  private static final double MOST_MICROAMPERES = 1e8; // beyond it is no current but an error

  private final Context context;

  Facts(Context context) {
    this.context = context;
  }

  /** The folder of this name in the app's code cache; a path that is absolute stays as it is. */
  File inCodeCache(String folder) {
    File given = new File(folder);
    return given.isAbsolute() ? given : new File(context.getCodeCacheDir(), folder);
  }

  JSONObject toJson(String thermalBefore) throws JSONException {
    SimpleDateFormat utc = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss'Z'", Locale.ROOT);
    utc.setTimeZone(TimeZone.getTimeZone("UTC"));
    JSONObject json =
        new JSONObject()
            .put("schema_version", RunSpec.SCHEMA_VERSION)
            .put("time", utc.format(new Date()));
    json.put("cpu", Build.HARDWARE).put("cpus", Runtime.getRuntime().availableProcessors());
    json.put("system", "Android " + Build.VERSION.RELEASE + " (API " + Build.VERSION.SDK_INT + ")");
    json.put("device", device());
    json.put("packages", packages());
    json.put(
        "thermal", new JSONObject().put("before", thermalBefore).put("after", thermalStatus()));
    return addBackends(json);
  }

  /** How hot the device says it is; "unknown" before Android 10. */
  String thermalStatus() {
    if (Build.VERSION.SDK_INT < Build.VERSION_CODES.Q) {
      return "unknown";
    }
    PowerManager power = context.getSystemService(PowerManager.class);
    int status = power == null ? -1 : power.getCurrentThermalStatus();
    return status >= 0 && status < THERMAL.length ? THERMAL[status] : "unknown";
  }

  /** The battery's current; null where the device does not tell. */
  Long batteryMicroamperes() {
    BatteryManager battery = context.getSystemService(BatteryManager.class);
    long current =
        battery == null
            ? Long.MIN_VALUE
            : battery.getLongProperty(BatteryManager.BATTERY_PROPERTY_CURRENT_NOW);
    return Math.abs((double) current) > MOST_MICROAMPERES ? null : current;
  }

  /** The most memory that this process had; 0 where the kernel does not say. */
  static long peakRssBytes() {
    try (BufferedReader status =
        new BufferedReader(new FileReader(new File("/proc/self/status")))) {
      for (String line; (line = status.readLine()) != null; ) {
        if (line.startsWith("VmHWM:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
        }
      }
    } catch (IOException | NumberFormatException error) {
      return 0;
    }
    return 0;
  }

  private JSONObject packages() throws JSONException {
    JSONObject packages = new JSONObject().put("tensorflow-lite", TensorFlowLite.runtimeVersion());
    String own = context.getPackageName();
    try {
      String version = context.getPackageManager().getPackageInfo(own, 0).versionName;
      return packages.put(own, version == null ? "unknown" : version);
    } catch (PackageManager.NameNotFoundException error) {
      return packages.put(own, "unknown");
    }
  }

  private static JSONObject device() throws JSONException {
    JSONObject device =
        new JSONObject().put("manufacturer", Build.MANUFACTURER).put("model", Build.MODEL);
    device.put("hardware", Build.HARDWARE).put("fingerprint", Build.FINGERPRINT);
    if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.S) {
      device.put("soc", Build.SOC_MANUFACTURER + " " + Build.SOC_MODEL);
    }
    return device.put("abis", new JSONArray(Arrays.asList(Build.SUPPORTED_ABIS)));
  }

  /** opencl_devices and gles_devices, with the words of host_tools/places/gpus.py. */
  private static JSONObject addBackends(JSONObject json) throws JSONException {
    try (CompatibilityList list = new CompatibilityList()) {
      for (CompatibilityList.Backend backend : list.getBackends()) {
        JSONObject device = new JSONObject();
        if (backend.isWorking()) {
          device.put("name", backend.getDevice()).put("vendor", backend.getVendor());
          device.put("version", backend.getVersion()).put("driver", backend.getDriver());
        } else {
          device.put("error", backend.getReason());
        }
        json.put(backend.getName() + "_devices", new JSONArray().put(device));
      }
    }
    return json;
  }
}

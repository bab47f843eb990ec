package org.quadra.runner;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** The request for a run: spec.json, the value of host_tools/record/spec.py. */
final class RunSpec {
  static final int SCHEMA_VERSION = 1;

  final String modelName;
  final String modelPath;
  final String signature; // empty: the main graph
  final Map<String, String> options; // of the delegate
  final int repetitions;
  final int threads;
  final List<String> peers;
  final boolean peerDefaults; // peers compute in the precision that is their default
  final boolean profile;
  final boolean keepTensors;
  final int warmUp; // inferences of each runtime before the timed ones
  final int delayMillis; // before each timed inference
  final int sustainedSeconds; // Quadra alone, after the measurement; 0: not

  private RunSpec(JSONObject json) throws JSONException {
    JSONObject model = json.getJSONObject("model");
    modelName = model.getString("name");
    modelPath = model.getString("path");
    signature = json.optString("signature");
    options = words(json.getJSONObject("options"));
    repetitions = json.getInt("repetitions");
    threads = json.getInt("threads");
    peers = strings(json.getJSONArray("peers"));
    peerDefaults = json.optBoolean("peer_defaults");
    profile = json.getBoolean("profile");
    keepTensors = json.optBoolean("keep_tensors");
    warmUp = json.optInt("warm_up", 2);
    delayMillis = json.optInt("delay_ms");
    sustainedSeconds = json.optInt("sustained_s");
  }

  static RunSpec parse(String text, String where) throws RunError {
    String wrong;
    try {
      JSONObject json = new JSONObject(text);
      int version = json.getInt("schema_version");
      if (version == SCHEMA_VERSION) {
        RunSpec spec = new RunSpec(json);
        if (spec.repetitions >= 1 && spec.threads >= 1) {
          return spec;
        }
        wrong = "repetitions and threads must be 1 or more";
      } else {
        wrong = "its schema_version is " + version + ", this runner reads " + SCHEMA_VERSION;
      }
    } catch (JSONException error) {
      wrong = "a field is missing or wrong (" + error.getMessage() + ")";
    }
    throw RunError.misuse("read " + where, wrong, "use a runner and a toolkit of the same version");
  }

  /** Options that were set; an empty word means the default. */
  private static Map<String, String> words(JSONObject json) throws JSONException {
    Map<String, String> words = new LinkedHashMap<>();
    for (Iterator<String> keys = json.keys(); keys.hasNext(); ) {
      String key = keys.next();
      if (!json.getString(key).isEmpty()) {
        words.put(key, json.getString(key));
      }
    }
    return words;
  }

  private static List<String> strings(JSONArray array) throws JSONException {
    List<String> strings = new ArrayList<>();
    for (int i = 0; i < array.length(); i++) {
      strings.add(array.getString(i));
    }
    return strings;
  }
}

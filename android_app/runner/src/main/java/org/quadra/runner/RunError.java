package org.quadra.runner;

import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** The error of a run that does not finish: what was tried, what came back, what to do next. */
final class RunError extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean misuse;
  private final String[] parts;

  private RunError(boolean misuse, String tried, String cameBack, String doNext, Throwable cause) {
    super(tried + ": " + cameBack + "; next: " + doNext, cause);
    this.misuse = misuse;
    this.parts = new String[] {tried, cameBack, doNext};
  }

  /** The request cannot be carried out as it is. */
  static RunError misuse(String tried, String cameBack, String doNext) {
    return new RunError(true, tried, cameBack, doNext, null);
  }

  /** A run of a model did not finish. */
  static RunError failed(String tried, String cameBack, String doNext) {
    return new RunError(false, tried, cameBack, doNext, null);
  }

  /** The same with the sentence of what was thrown. */
  static RunError failed(String tried, Throwable cause, String doNext) {
    String sentence =
        cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    return new RunError(false, tried, sentence.trim().replaceAll("\\s+", " "), doNext, cause);
  }

  /** As host_tools/base/errors.py counts. */
  int exitCode() {
    return misuse ? 2 : 77;
  }

  JSONObject toJson() throws JSONException {
    JSONObject json = new JSONObject();
    json.put("kind", misuse ? "Misuse" : "RunFailed");
    json.put("exit_code", exitCode());
    JSONArray words = new JSONArray();
    for (String part : parts) {
      words.put(part);
    }
    return json.put("parts", words);
  }
}

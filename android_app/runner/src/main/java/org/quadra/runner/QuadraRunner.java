package org.quadra.runner;

import android.app.Activity;
import android.app.Instrumentation;
import android.os.Bundle;
import java.io.File;
import org.json.JSONException;

/**
 * Runs one model on this device and leaves a run folder (docs/run_folder.md):
 *
 * <pre>am instrument -w -e folder PATH org.quadra.runner/.QuadraRunner</pre>
 *
 * <p>Arguments: {@code folder}, which has spec.json and inputs/; {@code mode}: run (default), cold
 * (only the first start), verdicts (runs nothing), inputs (those that set.json names); {@code
 * peers}: who runs beside Quadra, with "," between them, instead of those in spec.json; with mode
 * cold, the one that starts in Quadra's place; {@code model}: where the model is on this device,
 * instead of the path in spec.json; {@code kept}: with mode cold, a folder that is there, where the
 * one that starts keeps what it compiled, and finds it; {@code store}: with mode inputs, the folder
 * of the arrays. Ends with RESULT_OK, or with RESULT_CANCELED, a sentence as {@code error} and
 * error.json.
 */
public class QuadraRunner extends Instrumentation implements Stages {
  public static final String ARGUMENT_FOLDER = "folder";
  public static final String ARGUMENT_MODE = "mode";
  public static final String ARGUMENT_PEERS = "peers";
  public static final String ARGUMENT_MODEL = "model";
  public static final String ARGUMENT_KEPT = "kept";
  public static final String ARGUMENT_STORE = "store";

  private Bundle arguments = new Bundle();

  @Override
  public void onCreate(Bundle arguments) {
    super.onCreate(arguments);
    if (arguments != null) {
      this.arguments = arguments;
    }
    start();
  }

  @Override
  public void onStart() {
    super.onStart();
    Bundle result = new Bundle();
    RunFolder folder = null;
    try {
      begin("start");
      folder = openFolder();
      Facts facts = new Facts(getTargetContext());
      String model = arguments.getString(ARGUMENT_MODEL, "");
      RunWorker worker = new RunWorker(folder, model, facts, this);
      worker.work(
          arguments.getString(ARGUMENT_MODE, RunWorker.RUN),
          arguments.getString(ARGUMENT_PEERS),
          arguments.getString(ARGUMENT_KEPT, ""),
          arguments.getString(ARGUMENT_STORE, ""));
      result.putString("state", "complete");
      finish(Activity.RESULT_OK, result);
    } catch (RunError error) {
      result.putString("state", "failed");
      result.putString("error", error.getMessage() + also(folder, error));
      result.putString("exit_code", Integer.toString(error.exitCode()));
      finish(Activity.RESULT_CANCELED, result);
    }
  }

  private RunFolder openFolder() throws RunError {
    String path = arguments.getString(ARGUMENT_FOLDER);
    if (path == null || path.isEmpty()) {
      throw RunError.misuse(
          "read the argument folder", "it is missing", "-e folder PATH, a folder with spec.json");
    }
    return new RunFolder(new File(path));
  }

  /**
   * Tells whoever waits, on the standard output and as a status of the instrumentation, what is
   * done next.
   */
  @Override
  public void begin(String stage) {
    System.out.println("stage: " + stage);
    Bundle status = new Bundle();
    status.putString("stage", stage);
    sendStatus(0, status);
  }

  /** Leaves error.json, where there is a folder for it; what went wrong with that. */
  private static String also(RunFolder folder, RunError error) {
    if (folder == null) {
      return "";
    }
    try {
      folder.writeJson("error.json", error.toJson());
      return "";
    } catch (RunError | JSONException second) {
      return " (and error.json could not be written: " + second.getMessage() + ")";
    }
  }
}

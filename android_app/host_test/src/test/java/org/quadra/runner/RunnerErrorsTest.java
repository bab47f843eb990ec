package org.quadra.runner;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.app.Activity;
import android.content.Context;
import android.os.Bundle;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.json.JSONObject;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;

/** The runner itself, on Android's classes, where it ends before any native code is needed. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
@SuppressWarnings("deprecation") // of Config.manifest: a later JDK says so here, too
public class RunnerErrorsTest {
  private static final String SPEC =
      "{\"schema_version\": %d, \"model\": {\"name\": \"m\", \"path\": \"%s\", \"sha256\": \"\"},"
          + " \"options\": {}, \"repetitions\": 3, \"threads\": 1, \"peers\": [\"xnnpack\"],"
          + " \"profile\": false}";

  @Rule public final TemporaryFolder scratch = new TemporaryFolder();

  /** A runner whose end can be looked at. */
  private static final class Watched extends QuadraRunner {
    private int code = -99;
    private Bundle result;

    @Override
    public Context getTargetContext() {
      return RuntimeEnvironment.getApplication();
    }

    @Override
    public void start() {
      onStart();
    }

    @Override
    public void finish(int code, Bundle result) {
      this.code = code;
      this.result = result;
    }
  }

  private static Watched run(String... words) {
    Bundle arguments = new Bundle();
    for (int i = 0; i < words.length; i += 2) {
      arguments.putString(words[i], words[i + 1]);
    }
    Watched runner = new Watched();
    runner.onCreate(arguments);
    return runner;
  }

  private static void assertMisuse(Watched runner, String sentence) {
    assertEquals(Activity.RESULT_CANCELED, runner.code);
    assertEquals("failed", runner.result.getString("state"));
    assertEquals("2", runner.result.getString("exit_code"));
    String error = runner.result.getString("error");
    assertTrue(error, error.contains(sentence) && error.contains("; next: "));
  }

  private File folderWith(int schema, String model) throws IOException {
    return write("spec.json", String.format(SPEC, schema, model)).getParentFile();
  }

  private File write(String name, String text) throws IOException {
    File file = new File(scratch.getRoot(), name);
    Files.write(file.toPath(), text.getBytes(StandardCharsets.UTF_8));
    return file;
  }

  @Test
  public void withoutAFolder() {
    assertMisuse(run(), "read the argument folder: it is missing");
    String missing = new File(scratch.getRoot(), "nowhere").getPath();
    assertMisuse(
        run("folder", missing),
        "write into the run folder " + missing + ": there is no such folder");
  }

  @Test
  public void withoutASpec() {
    assertMisuse(run("folder", scratch.getRoot().getPath()), "spec.json");
  }

  @Test
  public void withASpecOfAnotherVersion() throws IOException {
    assertMisuse(
        run("folder", folderWith(7, "/m").getPath()),
        "its schema_version is 7, this runner reads 1");
    write("spec.json", "{");
    assertMisuse(run("folder", scratch.getRoot().getPath()), "a field is missing or wrong");
  }

  @Test
  public void withoutAModel() throws Exception {
    File folder = folderWith(1, "/nowhere/m.tflite");
    assertMisuse(run("folder", folder.getPath()), "read the model /nowhere/m.tflite");
    JSONObject error =
        new JSONObject(new String(Files.readAllBytes(new File(folder, "error.json").toPath())));
    assertEquals("Misuse", error.getString("kind"));
    assertEquals(2, error.getInt("exit_code"));
    assertEquals(3, error.getJSONArray("parts").length());
    assertFalse("nothing half-written", new File(folder, ".error.json.new").exists());
  }

  @Test
  public void withAModelThatIsElsewhereOnThisDevice() throws IOException {
    File folder = folderWith(1, write("m.tflite", "0000TFL30000").getPath());
    assertMisuse(
        run("folder", folder.getPath(), "model", "/elsewhere/m.tflite"),
        "read the model /elsewhere/m.tflite");
  }

  @Test
  public void withADamagedModel() throws IOException {
    File folder = folderWith(1, write("m.tflite", "this is no model").getPath());
    assertMisuse(run("folder", folder.getPath()), "it is not a TFLite model");
  }

  @Test
  public void withAModeThatThereIsNot() throws IOException {
    File folder = folderWith(1, write("m.tflite", "0000TFL30000").getPath());
    assertMisuse(
        run("folder", folder.getPath(), "mode", "fly"),
        "'fly' is not one of run, cold, verdicts, dump");
  }
}

package org.quadra.host;

import android.app.Activity;
import android.content.Context;
import android.os.Bundle;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;
import org.junit.runner.JUnitCore;
import org.junit.runner.Result;
import org.junit.runner.RunWith;
import org.junit.runner.notification.Failure;
import org.quadra.runner.QuadraRunner;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;

/**
 * The APK's runner on a desktop's Java, inside Android's classes: what {@code am instrument} does
 * on a phone. System properties quadra.folder, quadra.mode and quadra.peers are the runner's
 * arguments. Exit status: 0, or the runner's, or 70 when Robolectric itself failed.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
public class RunnerOnHost {
  private static final int BROKEN = 70;
  // A property, because this class is loaded twice: inside Android and outside.
  private static final String EXIT = "quadra.exit";

  public static void main(String[] arguments) {
    System.setOut(System.err); // one stream: what native code logs stays between its stages
    System.setProperty(EXIT, Integer.toString(BROKEN));
    Result result = JUnitCore.runClasses(RunnerOnHost.class);
    for (Failure failure : result.getFailures()) {
      System.err.println(failure.getTrace());
    }
    System.out.flush();
    // Not exit(): threads of drivers may live on, and what their libraries do last helps nobody.
    Runtime.getRuntime().halt(result.wasSuccessful() ? Integer.getInteger(EXIT) : BROKEN);
  }

  @Test
  public void run() {
    Bundle arguments = new Bundle();
    arguments.putString(QuadraRunner.ARGUMENT_FOLDER, System.getProperty("quadra.folder"));
    arguments.putString(QuadraRunner.ARGUMENT_MODE, System.getProperty("quadra.mode"));
    arguments.putString(QuadraRunner.ARGUMENT_PEERS, System.getProperty("quadra.peers"));
    AtomicInteger exit = new AtomicInteger(BROKEN);
    new Runner(exit).onCreate(arguments);
    System.setProperty(EXIT, Integer.toString(exit.get()));
  }

  /** What the system does for an Instrumentation. */
  private static final class Runner extends QuadraRunner {
    private final AtomicInteger exit;

    Runner(AtomicInteger exit) {
      this.exit = exit;
    }

    @Override
    public Context getTargetContext() {
      return RuntimeEnvironment.getApplication();
    }

    @Override
    public Context getContext() {
      return RuntimeEnvironment.getApplication();
    }

    @Override
    public void start() {
      onStart();
    }

    @Override
    public void sendStatus(int code, Bundle status) {}

    @Override
    public void finish(int code, Bundle result) {
      if (code == Activity.RESULT_OK) {
        exit.set(0);
        return;
      }
      System.err.println(result.getString("error"));
      exit.set(Integer.parseInt(result.getString("exit_code")));
    }
  }
}

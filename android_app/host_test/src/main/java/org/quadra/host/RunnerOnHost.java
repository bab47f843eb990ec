package org.quadra.host;

import android.app.Activity;
import android.content.Context;
import android.os.Bundle;
import java.util.Properties;
import org.junit.Test;
import org.junit.runner.JUnitCore;
import org.junit.runner.RunWith;
import org.junit.runner.notification.Failure;
import org.quadra.runner.QuadraRunner;
import org.robolectric.annotation.Config;

/**
 * The APK's runner on a desktop's Java, inside Android's classes: what {@code am instrument} does
 * on a phone. Each system property quadra.argument.NAME is an argument of the runner; {@link
 * Status} and {@link HostContext} read others. The process ends with 0, or the runner's exit code,
 * or 70 when nobody said why.
 */
@RunWith(AndroidClasses.class)
@Config(sdk = 34, manifest = Config.NONE)
@SuppressWarnings("deprecation") // of Config.manifest: a later JDK says so here, too
public class RunnerOnHost {
  private static final int BROKEN = 70;
  private static final String ARGUMENT = "quadra.argument.";

  public static void main(String[] arguments) {
    System.setOut(System.err); // one stream: what native code logs stays between its stages
    for (Failure failure : JUnitCore.runClasses(RunnerOnHost.class).getFailures()) {
      System.err.println(failure.getTrace());
    }
    end(BROKEN); // a run that ends does not come here
  }

  @Test
  public void run() {
    Status status = Status.open();
    try {
      new Runner(new HostContext(), status).onCreate(arguments());
    } catch (Throwable error) { // whatever it is, a phone's system would tell of it
      status.crashed(error);
      error.printStackTrace();
    }
    end(BROKEN);
  }

  private static Bundle arguments() {
    Bundle arguments = new Bundle();
    Properties properties = System.getProperties();
    for (String name : properties.stringPropertyNames()) {
      if (name.startsWith(ARGUMENT)) {
        arguments.putString(name.substring(ARGUMENT.length()), properties.getProperty(name));
      }
    }
    return arguments;
  }

  /** Not exit(): threads of drivers may live on, and what their libraries do last helps nobody. */
  private static void end(int code) {
    System.err.flush();
    Runtime.getRuntime().halt(code);
  }

  /** Stands in for the system's part of an Instrumentation. */
  private static final class Runner extends QuadraRunner {
    private final Context context;
    private final Status status;

    Runner(Context context, Status status) {
      this.context = context;
      this.status = status;
    }

    @Override
    public Context getTargetContext() {
      return context;
    }

    @Override
    public Context getContext() {
      return context;
    }

    @Override
    public void start() {
      onStart();
    }

    @Override
    public void sendStatus(int code, Bundle values) {
      status.sent(code, values);
    }

    @Override
    public void finish(int code, Bundle values) {
      status.finished(code, values);
      if (code == Activity.RESULT_OK) {
        end(0);
      }
      System.err.println(values.getString("error"));
      end(Integer.parseInt(values.getString("exit_code")));
    }
  }
}

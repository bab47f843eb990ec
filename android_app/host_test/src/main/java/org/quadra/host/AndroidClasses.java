package org.quadra.host;

import java.lang.reflect.Method;
import java.util.Map;
import org.junit.runners.model.FrameworkMethod;
import org.junit.runners.model.InitializationError;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.config.ConfigurationRegistry;
import org.robolectric.internal.SandboxTestRunner;
import org.robolectric.internal.bytecode.Sandbox;
import org.robolectric.util.ReflectionHelpers;

/**
 * Robolectric's Android classes without an app around them. Resources, an Application and all
 * services of the system take it two seconds, and an Instrumentation that runs models asks for none
 * of them.
 */
public final class AndroidClasses extends RobolectricTestRunner {
  public AndroidClasses(Class<?> test) throws InitializationError {
    super(test);
  }

  @Override
  protected SandboxTestRunner.HelperTestRunner getHelperTestRunner(Class<?> bootstrapped)
      throws InitializationError {
    return new Inside(bootstrapped);
  }

  @Override
  protected void beforeTest(Sandbox sandbox, FrameworkMethod method, Method bootstrapped)
      throws ReflectiveOperationException {
    // Android's classes choose their shadows by the configuration.
    Map<?, ?> chosen = ((RobolectricFrameworkMethod) method).getConfiguration().map();
    Class<?> registry = sandbox.bootstrappedClass(ConfigurationRegistry.class);
    Object made = registry.getConstructor(Map.class).newInstance(chosen);
    ReflectionHelpers.setStaticField(registry, "instance", made);
  }

  @Override
  protected void afterTest(FrameworkMethod method, Method bootstrapped) {}

  @Override
  protected void finallyAfterTest(FrameworkMethod method) {}

  /** Robolectric's own would hand each test to its app's life cycle. */
  private static final class Inside extends SandboxTestRunner.HelperTestRunner {
    Inside(Class<?> bootstrapped) throws InitializationError {
      super(bootstrapped);
    }
  }
}

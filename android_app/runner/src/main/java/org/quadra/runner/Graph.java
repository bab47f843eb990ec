package org.quadra.runner;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.DataType;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.Tensor;

/**
 * The entry of a run: a model's main graph, or one of its signatures, whose inputs and outputs are
 * sorted by name.
 */
final class Graph {
  private final Interpreter interpreter;
  private final String signature; // empty: the main graph
  private final String[] inputNames; // of a signature
  private final String[] outputNames;
  private Object[] inputs = {};
  // For a signature with other shapes than the file's: TFLite takes its shapes from arrays alone.
  private Object[] first;

  /** Throws IllegalArgumentException where the model has no such signature. */
  Graph(Interpreter interpreter, String signature) {
    this.interpreter = interpreter;
    this.signature = signature;
    inputNames = isMain() ? null : sorted(interpreter.getSignatureInputs(signature));
    outputNames = isMain() ? null : sorted(interpreter.getSignatureOutputs(signature));
  }

  boolean isMain() {
    return signature.isEmpty();
  }

  int inputCount() {
    return isMain() ? interpreter.getInputTensorCount() : inputNames.length;
  }

  int outputCount() {
    return isMain() ? interpreter.getOutputTensorCount() : outputNames.length;
  }

  Tensor input(int index) {
    return isMain()
        ? interpreter.getInputTensor(index)
        : interpreter.getInputTensorFromSignature(inputNames[index], signature);
  }

  Tensor output(int index) {
    return isMain()
        ? interpreter.getOutputTensor(index)
        : interpreter.getOutputTensorFromSignature(outputNames[index], signature);
  }

  String inputName(int index) {
    return isMain() ? input(index).name() : inputNames[index];
  }

  String outputName(int index) {
    return isMain() ? output(index).name() : outputNames[index];
  }

  /** Makes it ready, with inputs of these shapes. A signature is made ready by its first run. */
  void allocate(List<NpyArray> arrays) {
    for (int i = 0; isMain() && i < arrays.size(); i++) {
      if (!Arrays.equals(input(i).shape(), arrays.get(i).shape)) {
        interpreter.resizeInput(i, arrays.get(i).shape);
      }
    }
    if (isMain()) {
      interpreter.allocateTensors();
    }
  }

  /** The inputs of all runs: as many as there are, each of its input's type. */
  void setInputs(List<NpyArray> arrays) {
    inputs = new Object[arrays.size()];
    first = new Object[arrays.size()];
    boolean resized = false;
    for (int i = 0; i < inputs.length; i++) {
      NpyArray array = arrays.get(i);
      ByteBuffer values = array.data.duplicate().order(array.data.order());
      values.rewind();
      inputs[i] = first[i] = values;
      if (!isMain() && !Arrays.equals(input(i).shape(), array.shape)) {
        first[i] = nested(array);
        resized = true;
      }
    }
    first = resized ? first : null;
  }

  void run() {
    Object[] values = first == null ? inputs : first;
    first = null;
    if (isMain()) {
      interpreter.runForMultipleInputsOutputs(values, new HashMap<Integer, Object>());
      return;
    }
    Map<String, Object> named = new HashMap<>();
    for (int i = 0; i < values.length; i++) {
      named.put(inputNames[i], values[i]);
    }
    interpreter.runSignature(named, new HashMap<String, Object>(), signature);
  }

  private static String[] sorted(String[] names) {
    Arrays.sort(names);
    return names;
  }

  private static Object nested(NpyArray array) {
    Object made = Array.newInstance(element(array.type), array.shape);
    ByteBuffer values = array.data.duplicate().order(array.data.order());
    values.rewind();
    fill(made, array.type, values);
    return made;
  }

  private static Class<?> element(DataType type) {
    switch (type) {
      case FLOAT32:
        return float.class;
      case INT32:
        return int.class;
      case INT64:
        return long.class;
      case INT16:
        return short.class;
      case BOOL:
        return boolean.class;
      default:
        return byte.class;
    }
  }

  private static void fill(Object array, DataType type, ByteBuffer values) {
    for (int i = 0; i < Array.getLength(array); i++) {
      Object inside = Array.get(array, i);
      if (inside.getClass().isArray()) {
        fill(inside, type, values);
      } else if (type == DataType.FLOAT32) {
        Array.setFloat(array, i, values.getFloat());
      } else if (type == DataType.INT32) {
        Array.setInt(array, i, values.getInt());
      } else if (type == DataType.INT64) {
        Array.setLong(array, i, values.getLong());
      } else if (type == DataType.INT16) {
        Array.setShort(array, i, values.getShort());
      } else if (type == DataType.BOOL) {
        Array.setBoolean(array, i, values.get() != 0);
      } else {
        Array.setByte(array, i, values.get());
      }
    }
  }
}

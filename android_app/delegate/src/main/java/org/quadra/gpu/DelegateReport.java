package org.quadra.gpu;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The delegate's report on a model: where each node runs and why, on which device.
 * docs/run_folder.md explains verdicts.json.
 */
public final class DelegateReport {
  /** One node of the model and its verdict. */
  public static final class Node {
    private final int subgraph;
    private final int index;
    private final String op;
    private final String name;
    private final boolean onGpu;
    private final int partition;
    private final String reason;

    Node(JSONObject json) throws JSONException {
      subgraph = json.getInt("subgraph");
      index = json.getInt("index");
      op = json.getString("op");
      name = json.getString("name");
      onGpu = json.getString("on").equals("gpu");
      partition = json.getInt("partition");
      reason = json.getString("reason");
    }

    /** 0 is the main graph; others are bodies of loops, branches, further signatures. */
    public int getSubgraph() {
      return subgraph;
    }

    public int getIndex() {
      return index;
    }

    /** As TensorFlow Lite calls it: "CONV_2D", or the name of a custom op. */
    public String getOp() {
      return op;
    }

    public String getName() {
      return name;
    }

    public boolean isOnGpu() {
      return onGpu;
    }

    /** -1 on the CPU. */
    public int getPartition() {
      return partition;
    }

    /** Why it is left to the CPU; empty on the GPU. */
    public String getReason() {
      return reason;
    }

    @Override
    public String toString() {
      return index + " " + op + (onGpu ? " on the GPU" : " on the CPU: " + reason);
    }
  }

  private final String json;
  private final String version;
  private final String backend;
  private final List<String> backendNotes;
  private final String precision;
  private final String target;
  private final String deviceName;
  private final int partitionCount;
  private final List<Node> nodes;

  DelegateReport(String json) {
    this.json = json;
    try {
      JSONObject report = new JSONObject(json);
      version = report.getString("version");
      backend = report.getString("backend");
      backendNotes = strings(report.getJSONArray("backend_notes"));
      precision = report.getString("precision");
      target = report.getString("target");
      deviceName = report.getJSONObject("device").getString("name");
      partitionCount = report.getJSONArray("partitions").length();
      nodes = nodes(report.getJSONArray("nodes"));
    } catch (JSONException error) {
      throw new IllegalStateException(
          "Quadra: read the delegate's report: "
              + error.getMessage()
              + "; next: see that libquadra.so is of the same version as its Java classes",
          error);
    }
  }

  /** The native library's version. */
  public String getVersion() {
    return version;
  }

  /**
   * The one that runs the model: "opencl", "gles", "null", or "none" where no GPU API works or no
   * model came yet.
   */
  public String getBackend() {
    return backend;
  }

  /** A sentence for each backend that was tried before. */
  public List<String> getBackendNotes() {
    return backendNotes;
  }

  public String getPrecision() {
    return precision;
  }

  /** The device whose limits the plans keep: this one's short name, or the target file's. */
  public String getTarget() {
    return target;
  }

  public String getDeviceName() {
    return deviceName;
  }

  public int getPartitionCount() {
    return partitionCount;
  }

  /** Every node, in the model's order. */
  public List<Node> getNodes() {
    return nodes;
  }

  /** The nodes that are left to the CPU; each has a reason. */
  public List<Node> getNodesOnCpu() {
    List<Node> found = new ArrayList<>();
    for (Node node : nodes) {
      if (!node.isOnGpu()) {
        found.add(node);
      }
    }
    return found;
  }

  /** All of it, as the native library wrote it. */
  public String toJson() {
    return json;
  }

  @Override
  public String toString() {
    int onGpu = nodes.size() - getNodesOnCpu().size();
    return onGpu
        + " of "
        + nodes.size()
        + (nodes.size() == 1 ? " node on " : " nodes on ")
        + backend
        + " ("
        + deviceName
        + "), "
        + precision;
  }

  private static List<Node> nodes(JSONArray array) throws JSONException {
    List<Node> nodes = new ArrayList<>(array.length());
    for (int i = 0; i < array.length(); i++) {
      nodes.add(new Node(array.getJSONObject(i)));
    }
    return Collections.unmodifiableList(nodes);
  }

  private static List<String> strings(JSONArray array) throws JSONException {
    List<String> strings = new ArrayList<>(array.length());
    for (int i = 0; i < array.length(); i++) {
      strings.add(array.getString(i));
    }
    return Collections.unmodifiableList(strings);
  }
}

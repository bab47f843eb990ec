package org.quadra.gpu;

/**
 * Is told where each node of a model runs, and why, while an interpreter is being made with the
 * delegate; in the thread that makes it. It must call neither the delegate nor the interpreter. An
 * exception that it throws is printed, and changes nothing.
 */
public interface VerdictListener {
  void onVerdict(DelegateReport.Node node);
}

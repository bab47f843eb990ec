"""Inferences on OpenCL buffers that go on when the interpreter returns, what they wait for, and an app's own contexts. Each
test in a process of its own."""

from __future__ import annotations

from tests.faults import opencl  # noqa: F401 (a fixture, which skips where there is no driver)
from tests.test_lifetime import run

_PRELUDE = """
import pyopencl as cl
from ai_edge_litert.interpreter import load_delegate
from tests.buffers_c import OPENCL, Native, Source, refuses
from tests.cpu import reference_interpreter

native = Native(library)
own = opened("opencl")  # its device is the best one
context = cl.Context(cl.Context.from_int_ptr(native.contexts(own[1]).cl_context).devices)
queue = cl.CommandQueue(context)
DEADLINE_MS = 100

class Model:
    '''In the app's context, on buffers of the app; an input's event is `event`.'''
    def __init__(self, **options):
        self.delegate = load_delegate(library, {"backend": "opencl", **options})
        native.use_contexts(self.delegate, cl_context=context.int_ptr)
        self.source = Source(native, self.delegate, DEADLINE_MS)
        self.interpreter = reference_interpreter(MODEL, experimental_delegates=[self.delegate])
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]["index"]
        self.outputs = [detail["index"] for detail in self.interpreter.get_output_details()]
        self.feed = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=FEED[0])
        self.results = [cl.Buffer(context, cl.mem_flags.READ_WRITE, one.nbytes) for one in EXPECTED]
        for tensor, buffer in zip([self.input, *self.outputs], [self.feed, *self.results]):
            self.source.buffers[tensor] = (OPENCL, buffer.int_ptr, buffer.size)
        self.source.goes_on = True

    def invoke(self):
        '''The event of its end.'''
        self.interpreter.invoke()
        return self.source.done[-1]

    def refuses(self, *words):
        start = time.monotonic()
        refuses(self.interpreter, *words)
        assert self.source.done[-1] is None and time.monotonic() - start < 30

    def clear(self):
        for buffer, like in zip(self.results, EXPECTED):
            cl.enqueue_copy(queue, buffer, np.full_like(like, np.nan))

    def check(self):
        for buffer, want in zip(self.results, EXPECTED):
            got = np.empty_like(want)
            cl.enqueue_copy(queue, got, buffer)
            assert np.allclose(got, want, atol=1e-5)
        self.clear()

def state(event):
    return cl.Event.from_int_ptr(event).command_execution_status

DONE = cl.command_execution_status.COMPLETE
def pending(model):
    '''An event that the input waits for.'''
    event = cl.UserEvent(context)
    model.source.events[model.input] = event.int_ptr
    return event
"""


def events(library, body: str, **env: str):
    # PoCL 3.1's `basic` locks up where a command that waits for an event of the user's can begin.
    return run(library, _PRELUDE + body, "opencl", env={"POCL_DEVICES": "pthread", **env})


def test_an_inference_goes_on_behind_its_inputs_events(library):
    """In the app's context. It begins when the input's event is complete, its own event comes at its end, the next one is
    behind it. A profile, an output on the host or nobody who takes the event: it has ended when the interpreter returns."""
    events(
        library,
        """
model = Model()
assert native.contexts(model.delegate).cl_context == context.int_ptr
assert model.source.offers == {model.input: (FEED[0].nbytes, OPENCL)} | {
    tensor: (one.nbytes, OPENCL) for tensor, one in zip(model.outputs, EXPECTED)}
for _ in range(3):
    cl.wait_for_events([cl.Event.from_int_ptr(model.invoke())])
    model.check()
event = pending(model)
first, second = model.invoke(), model.invoke()
time.sleep(0.05)
assert state(second) != DONE
event.set_status(DONE)
cl.wait_for_events([cl.Event.from_int_ptr(second)])
model.check()
assert report(library, model.delegate)["partitions"][0]["copied_bytes"] == 0

event = pending(model)
threading.Timer(0.05, event.set_status, [DONE]).start()
model.source.takes = False
model.invoke()
model.source.takes = True
model.check()
host = model.source.buffers.pop(model.outputs[1])
assert model.invoke() is None
assert np.allclose(model.interpreter.get_tensor(model.outputs[1]), EXPECTED[1], atol=1e-5)
model.source.buffers[model.outputs[1]] = host
model.source.goes_on = False
assert model.invoke() is None
model.check()
profiled = Model(profile="1")
assert profiled.invoke() is None
profiled.check()
""",
    )


def test_an_event_that_does_not_come_is_a_sentence(library):
    """Of an input, of what goes on, at the end of a delegate. Once it comes, all is right again."""
    events(
        library,
        """
model = Model()
model.source.goes_on = False
event = pending(model)
model.refuses("wait for an input", "its event did not come within 100 ms", "who is to complete it")
event.set_status(DONE)
model.invoke()
model.check()
model.source.goes_on = True
event = pending(model)
model.invoke()
model.source.goes_on = False
del model.source.events[model.input]
model.refuses("wait for the inference that goes on", "did not come within 100 ms")
event.set_status(DONE)
model.invoke()
model.check()
fresh = Model()
fresh.invoke()
event = pending(fresh)
fresh.invoke()
results = fresh.results
del fresh
gc.collect()  # its inference never ends before it does: what it works on stays
event.set_status(DONE)
queue.finish()
""",
    )


def test_a_driver_that_fails_is_a_reason(library, opencl):
    """To tell of the app's context: the next backend, or the CPU. To tell of an event: of the inference."""
    events(
        library,
        f"""
DRIVER = {str(opencl)!r}
os.environ["DRIVER_FAULTS"] = "clGetContextInfo@*=-34"
delegate = load_delegate(library, {{"backend": "opencl", "opencl_library": DRIVER}})
native.use_contexts(delegate, cl_context=context.int_ptr)
right(reference_interpreter(MODEL, experimental_delegates=[delegate]))
[note] = report(library, delegate)["backend_notes"]
assert note.startswith("opencl: use the app's OpenCL context: CL_INVALID_CONTEXT"), note
os.environ["DRIVER_FAULTS"] = "clGetEventInfo@*=-58"
model = Model(opencl_library=DRIVER)
model.source.goes_on = False
event = pending(model)
model.refuses("wait for an input: CL_INVALID_EVENT")
os.environ["DRIVER_FAULTS"] = "clEnqueueBarrierWithWaitList@*=-6"
model.source.goes_on = True
model.refuses("wait for an input: CL_OUT_OF_HOST_MEMORY")
del model.source.events[model.input]
model.refuses("end an inference: CL_OUT_OF_HOST_MEMORY")
os.environ["DRIVER_FAULTS"] = ""
assert model.invoke()
""",
    )

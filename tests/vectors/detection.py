"""TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION: the boxes that are found best without overlapping each other."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.vectors.case import Case, Feed, generator

SCALES = np.array([10.0, 10.0, 5.0, 5.0])


def decoded(boxes, anchors):
    """Lower and upper ends, y before x."""
    moved, at = boxes[:, :4].astype(np.float64) / SCALES, anchors.astype(np.float64)
    middle, half = moved[:, :2] * at[:, 2:] + at[:, :2], 0.5 * np.exp(moved[:, 2:]) * at[:, 2:]
    return np.concatenate([middle - half, middle + half], 1)


def overlap(a, b):
    """Of one box and each of others: what is common over what is in either; 0 where a box has no inside."""
    sides = np.maximum(np.minimum(a[2:], b[:, 2:]) - np.maximum(a[:2], b[:, :2]), 0)
    area, others = np.prod(a[2:] - a[:2]), np.prod(b[:, 2:] - b[:, :2], axis=1)
    common = sides[:, 0] * sides[:, 1]
    inside = (area > 0) & (others > 0)
    return np.where(inside, common / np.where(inside, area + others - common, 1), 0)


def best_boxes(boxes, scores, anchors, classes, most, least, limit):
    at = decoded(boxes[0], anchors)
    numbers = scores[0, :, scores.shape[2] - classes :]
    best, found = numbers.max(1), numbers.argmax(1)
    is_open = best >= np.float32(least)
    made = np.zeros((1, most, 4)), np.zeros((1, most)), np.zeros((1, most)), np.zeros(1)
    for k in range(most):
        if not is_open.any():
            break
        i = int(np.argmax(np.where(is_open, best, -np.inf)))
        made[0][0, k], made[1][0, k], made[2][0, k] = at[i], found[i], best[i]
        made[3][0] += 1
        is_open &= overlap(at[i], at) <= limit
        is_open[i] = False
    return tuple(one.astype(np.float32) for one in made)


def spread(centres: int, at_each: int) -> np.ndarray:
    """Anchors around centres that are far from each other."""
    side = int(np.ceil(np.sqrt(centres)))
    places = [((i // side + 0.5) / side, (i % side + 0.5) / side) for i in range(centres)]
    return np.array([(y, x, 0.5 / side, 0.5 / side) for y, x in places for _ in range(at_each)], np.float32)


def _case(name, anchors, classes, background, most, least, limit, boxes=(-0.5, 0.5), step=1 / 64, **more) -> Case:
    count = len(anchors)
    options = {
        "max_detections": most, "max_classes_per_detection": 1, "detections_per_class": 100, "use_regular_nms": False,
        "nms_score_threshold": least, "nms_iou_threshold": limit, "num_classes": classes,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, **more.pop("options", {}),
    }  # fmt: skip

    def build(m, boxes, scores):
        shapes = [(1, most, 4), (1, most), (1, most), (1,)]
        given = bytes(flexbuffers.Dumps(options))
        return tuple(m.op("TFLite_Detection_PostProcess", [boxes, scores, anchors], shapes, custom_options=given))

    return Case(
        "TFLite_Detection_PostProcess",
        name,
        [Feed((1, count, more.pop("depth", 4)), *boxes), Feed((1, count, classes + background), 0, 1, step=step)],
        build,
        lambda b, s: best_boxes(b, s, anchors, classes, most, least, limit),
        **more,
    )


def _anywhere(name, count) -> np.ndarray:
    places = generator(f"detection/{name}").uniform((0, 0, 0.05, 0.05), (1, 1, 0.4, 0.4), (count, 4))
    return places.astype(np.float32)


def _suppression(version, name, count, most, least, limit, sigma=0.0, **more) -> Case:
    """Boxes by any two corners; no score is there twice, for of equal ones the CPU takes any."""
    apart = more.get("half", True)
    corners = spread(count // 4, 4) if apart else _anywhere(name, count)
    corners[:, 2:] += corners[:, :2]
    corners[1::3] = corners[1::3][:, [2, 1, 0, 3]]
    scores = generator(f"suppression/{name}").permutation(count).astype(np.float32) / 64

    def build(m, moved):
        boxes = m.elementwise("ADD", moved, corners)
        limits = [np.array(most, np.int32), *(np.array(n, np.float32) for n in (limit, least))]
        outputs = [m.value((most,), "int32"), m.value((), "int32")]
        if version == 5:
            limits.append(np.array(sigma, np.float32))
            outputs.insert(1, m.value((most,)))
        return m.several(f"NON_MAX_SUPPRESSION_V{version}", [boxes, scores, *limits], outputs)

    def reference(moved):
        at = (moved + corners).astype(np.float64)
        at = np.concatenate([np.minimum(at[:, :2], at[:, 2:]), np.maximum(at[:, :2], at[:, 2:])], 1)
        is_open, taken = scores > np.float32(least), []
        while is_open.any() and len(taken) < most:
            taken.append(int(np.argmax(np.where(is_open, scores, -np.inf))))
            is_open &= overlap(at[taken[-1]], at) < limit
            is_open[taken[-1]] = False
        places, found = np.zeros(most, np.int32), np.zeros(most, np.float32)
        places[: len(taken)], found[: len(taken)] = taken, scores[taken]
        count = np.array(len(taken), np.int32)
        return (places, count) if version == 4 else (places, found, count)

    feed = Feed((count, 4), -1 / 512 if apart else -1 / 32, 1 / 512 if apart else 1 / 32)
    return Case(f"NON_MAX_SUPPRESSION_V{version}", name, [feed], build, reference, **more)


CASES = [
    _case("apart", spread(12, 5), 6, 1, 10, 0.3, 0.5),
    _case("equal_numbers", spread(20, 2), 3, 1, 12, 0.1, 0.5, step=1 / 4),
    _case("key_points", spread(9, 3), 2, 1, 6, 0.3, 0.5, depth=8),  # behind the four numbers of a box
    # Half decides otherwise where boxes overlap nearly as much as they may.
    _case("anywhere", _anywhere("a", 300), 9, 0, 7, 0.2, 0.4, boxes=(-4, 4), half=False),
    _case("many", _anywhere("b", 2100), 5, 1, 4, 0.0, 0.3, boxes=(-2, 2), half=False),
    _case("few_are_left", spread(12, 5), 3, 1, 40, 0.6, 0.5, on_cpu=False),  # the CPU leaves the rest as it was
    _case("none", spread(5, 2), 3, 1, 4, 1.5, 0.5, on_cpu=False),
    _case("for_each_class", spread(4, 2), 3, 1, 4, 0.3, 0.5, place="cpu", reason="use_regular_nms", on_cpu=False, options={"use_regular_nms": True}),
    _case("two_classes", spread(4, 2), 3, 1, 4, 0.3, 0.5, place="cpu", reason="it gives 2 classes", on_cpu=False, options={"max_classes_per_detection": 2}),
    _suppression(4, "apart", 80, 9, 0.5, 0.5),
    _suppression(4, "anywhere", 100, 9, 0.5, 0.3, half=False),
    _suppression(4, "few_are_left", 28, 20, 0.25, 0.5),
    _suppression(5, "scores", 120, 12, 0.0, 0.5),
    _suppression(5, "scores_anywhere", 200, 12, 0.0, 0.5, half=False),
    _suppression(5, "lowers_scores", 20, 4, 0.0, 0.5, sigma=0.5, place="cpu", reason="a sigma of 0.5", on_cpu=False),
]  # fmt: skip

"""Images: 8-bit pixels, filters, masks, regions of a canvas."""

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, sizes

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def pixels(rng, shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def to_gray(rgb):
    """Convert a colour image to gray, and stretch its contrast to the whole range."""
    gray = (rgb.astype(np.float32) * LUMA).sum(axis=-1)
    low = gray.min(initial=255.0)
    high = gray.max(initial=0.0)
    stretched = (gray - low) * (255.0 / np.maximum(high - low, 1.0))
    return np.rint(np.clip(stretched, 0, 255)).astype(np.uint8), (float(low), float(high))


def to_gray_cases(rng):
    layout = in_turn("c", "fortran", "strided")
    for shape in sizes(rng, 2, 30):
        yield (laid_out(pixels(rng, (*shape, 3)), next(layout)),)


def sobel(image, threshold=60.0):
    """Find edges: gradient magnitude and direction, and a mask of the strong ones."""
    padded = np.pad(image.astype(np.float64), 1, mode="edge")
    top, middle, bottom = padded[:-2], padded[1:-1], padded[2:]
    smooth = top + 2 * middle + bottom
    gx = smooth[:, 2:] - smooth[:, :-2]
    left, center, right = padded[:, :-2], padded[:, 1:-1], padded[:, 2:]
    smooth = left + 2 * center + right
    gy = smooth[2:] - smooth[:-2]
    magnitude = np.hypot(gx, gy)
    direction = np.arctan2(gy, gx)
    edges = magnitude > threshold
    direction[~edges] = 0.0
    return magnitude, direction, edges, np.count_nonzero(edges)


def sobel_cases(rng):
    layout = in_turn("c", "fortran")
    for shape in sizes(rng, 2, 30):
        yield laid_out(pixels(rng, shape), next(layout)), float(rng.uniform(50, 400))


def adaptive_threshold(image, radius=2, offset=5):
    """Mark the pixels darker than the mean of their neighbourhood, by an integral image."""
    height, width = image.shape
    size = 2 * radius + 1
    padded = np.pad(image.astype(np.int64), ((radius + 1, radius), (radius + 1, radius)))
    integral = padded.cumsum(axis=0).cumsum(axis=1)
    window = (
        integral[size:, size:]
        - integral[:-size, size:]
        - integral[size:, :-size]
        + integral[:-size, :-size]
    )
    mean = window // size**2
    dark = image + offset < mean
    result = np.where(dark, 0, 255).astype(image.dtype)
    assert result.shape == (height, width)
    return result, dark.any(axis=1), int(dark.sum())


def adaptive_threshold_cases(rng):
    for shape in sizes(rng, 2, 40):
        yield pixels(rng, shape), int(rng.integers(1, 6)), int(rng.integers(0, 20))


def gamma_curve(image, gamma, invert=False):
    """Map the pixels through a table of a power law; the image itself when there is none."""
    if gamma == 1.0 and not invert:
        return image
    table = np.linspace(0.0, 1.0, 256) ** gamma
    if invert:
        table = table[::-1]
    table = np.round(table * 255).astype(np.uint8)
    return table[image]


def gamma_curve_cases(rng):
    for index, shape in enumerate(sizes(rng, 2, 30)):
        gamma = (0.45, 1.0, 2.2)[index % 3]
        yield pixels(rng, shape), gamma, index % 2 == 1


def paste(canvas, patch, row=0, column=0, alpha=1.0):
    """Blend a patch into a canvas in place, cropped at its edges; return what changed."""
    region = canvas[row : row + patch.shape[0], column : column + patch.shape[1]]
    height, width = region.shape
    patch = patch[:height, :width]
    before = region.copy()
    if alpha >= 1.0:
        region[...] = patch
    else:
        blended = alpha * patch + (1 - alpha) * region
        region[...] = (blended + 0.5).astype(canvas.dtype)
    changed = region != before
    return canvas, region, changed


def paste_cases(rng):
    layout = in_turn("c", "strided", "fortran", "reversed", "c")
    for index, shape in enumerate(sizes(rng, 2, 40)):
        canvas = laid_out(pixels(rng, shape), next(layout))
        patch = pixels(rng, tuple(rng.integers(0, 20, 2)))
        row, column = (int(n) for n in rng.integers(0, 12, 2))
        yield canvas, patch, row, column, 1.0 if index % 2 else float(rng.uniform(0, 1))


def thumbnails(image, levels=3):
    """Halve an image again and again by averaging blocks of four; also mirror and turn the last."""
    pyramid = [image]
    for _ in range(levels):
        last = pyramid[-1].astype(np.uint16)
        height, width = last.shape[0] // 2 * 2, last.shape[1] // 2 * 2
        blocks = last[:height, :width].reshape(height // 2, 2, width // 2, 2)
        pyramid.append(((blocks.sum(axis=(1, 3)) + 2) // 4).astype(np.uint8))
    smallest = pyramid[-1]
    views = {
        "mirrored": smallest[:, ::-1],
        "turned": np.rot90(smallest),
        "transposed": smallest.T,
        "upside down": np.flip(smallest, axis=0),
        "enlarged": np.repeat(np.repeat(smallest, 2, axis=0), 2, axis=1),
    }
    return pyramid, views


def thumbnails_cases(rng):
    layout = in_turn("c", "fortran")
    for shape in sizes(rng, 2, 70):
        yield (laid_out(pixels(rng, shape), next(layout)),)


PROGRAMS = [
    # in C order, strided, in Fortran order, and that of a single row
    Program(to_gray, to_gray_cases, captures=4),
    Program(sobel, sobel_cases, captures=2),
    Program(adaptive_threshold, adaptive_threshold_cases, captures=1, exact=True),
    # gamma is 1 or not, inverted or not
    Program(gamma_curve, gamma_curve_cases, captures=4, opaque=frozenset({"getitem"})),
    # three memory orders of the canvas, opaque or blended
    Program(paste, paste_cases, captures=6, exact=True),
    Program(thumbnails, thumbnails_cases, captures=2, exact=True),
]

// The page of a Profile: what is selected, and the timeline. No library, no network.
"use strict";

const root = document.documentElement;
const said = document.getElementById("said");
const packed = JSON.parse(document.getElementById("events").textContent);

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  if (timeline) timeline.draw();
});

// ---- selection: "k" a kernel, "e" a refused edge; it stands in the address

let timeline = null;

function select(kind, name, scroll) {
  for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
  const chosen = [];
  if (kind === "k") {
    for (const one of document.querySelectorAll("[data-k],[data-ks]")) {
      const names = one.dataset.ks === undefined ? [one.dataset.k] : one.dataset.ks.split(" ");
      if (!names.includes(name)) continue;
      chosen.push(one);
      if (one.tagName === "DETAILS") one.open = true;
    }
    if (timeline) timeline.choose(packed.kernels.indexOf(name), scroll);
    said.textContent = "kernel " + name;
  } else {
    chosen.push(...document.querySelectorAll('[data-e="' + Number(name) + '"]'));
    const row = document.getElementById("e" + Number(name));
    if (row) {
      said.textContent = "refused: " + row.cells[2].textContent + ", " + row.cells[3].textContent;
      row.scrollIntoView({ block: "nearest" });
    }
  }
  for (const one of chosen) one.classList.add("chosen");
  const line = chosen.find((one) => one.tagName === "TR");
  if (scroll && line) line.scrollIntoView({ block: "nearest" });
}

function follow(scroll) {
  const found = /^#([ke])=(.+)$/.exec(decodeURIComponent(location.hash));
  if (found) select(found[1], found[2], scroll);
}
addEventListener("hashchange", () => follow(true));

// ---- the timeline

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const column = new Int32Array(await new Response(stream).arrayBuffer());
  for (let k = 1; k < column.length; ++k) column[k] += column[k - 1];
  return column;
}

async function unpackAll(columns) {
  const names = Object.keys(columns);
  const made = await Promise.all(names.map((name) => unpack(columns[name])));
  return Object.fromEntries(names.map((name, k) => [name, made[k]]));
}

class Timeline {
  static HEIGHT = 18;
  static LEFT = 120;
  static TOP = 2;
  static AXIS = 20;

  constructor(canvas, events, flags) {
    this.canvas = canvas;
    this.events = events;
    this.flags = flags;
    this.count = events.row.length;
    // Where each row begins among the events, which are sorted by row, then by time.
    this.first = new Int32Array(packed.rows.length + 1);
    for (let k = 0; k < this.count; ++k) ++this.first[events.row[k] + 1];
    for (let r = 0; r < packed.rows.length; ++r) this.first[r + 1] += this.first[r];
    this.total = 1;
    for (let k = 0; k < this.count; ++k) {
      this.total = Math.max(this.total, events.begin[k] + events.length[k]);
    }
    this.from = 0;
    this.to = this.total;
    this.event = -1;
    this.kernel = -1;
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.press(e));
    canvas.addEventListener("pointermove", (e) => this.drag(e));
    canvas.addEventListener("pointerup", (e) => this.release(e));
    canvas.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  at(time) {
    const width = this.width - Timeline.LEFT;
    return Timeline.LEFT + ((time - this.from) / (this.to - this.from)) * width;
  }
  time(x) {
    const width = this.width - Timeline.LEFT;
    return this.from + ((x - Timeline.LEFT) / width) * (this.to - this.from);
  }
  y(row) {
    return Timeline.TOP + row * Timeline.HEIGHT;
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, 10), this.total);
    this.from = Math.min(Math.max(from, 0), this.total - span);
    this.to = this.from + span;
    this.draw();
  }
  zoom(factor, middle) {
    const { begin, length } = this.events;
    const chosen = this.event >= 0
      ? begin[this.event] + length[this.event] / 2 : (this.from + this.to) / 2;
    const about = middle === undefined ? chosen : middle;
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  draw() {
    const { canvas, events } = this;
    const scale = devicePixelRatio || 1;
    this.width = canvas.parentElement.clientWidth;
    const height = this.y(packed.rows.length) + 4;
    const style = getComputedStyle(root);
    const color = (name) => style.getPropertyValue(name).trim();
    const clear = (one, tall) => {
      one.width = this.width * scale;
      one.height = tall * scale;
      one.style.height = tall + "px";
      const g = one.getContext("2d");
      g.scale(scale, scale);
      g.fillStyle = color("--back");
      g.fillRect(0, 0, this.width, tall);
      g.font = "11px ui-monospace, monospace";
      g.textBaseline = "middle";
      return g;
    };
    const g = clear(canvas, height);
    this.axis(g, clear(document.getElementById("axis"), Timeline.AXIS), color, height);
    const bar = color("--bar"), soft = color("--line"), text = color("--text"), warm = color("--warm");
    for (let row = 0; row < packed.rows.length; ++row) {
      const y = this.y(row);
      g.fillStyle = text;
      g.fillText(packed.rows[row], 4, y + Timeline.HEIGHT / 2);
      let drawn = -1;
      const end = this.first[row + 1];
      for (let k = this.search(row, this.from); k < end && events.begin[k] < this.to; ++k) {
        const x0 = Math.max(this.at(events.begin[k]), Timeline.LEFT);
        const x1 = Math.min(this.at(events.begin[k] + events.length[k]), this.width);
        if (x1 < drawn + 0.5 && k !== this.event) continue; // bars below a pixel are one
        const waits = packed.names[events.name[k]] === "wait";
        const other = this.kernel >= 0 && events.kernel[k] !== this.kernel;
        g.fillStyle = k === this.event ? warm : waits ? soft : bar;
        g.globalAlpha = other ? 0.3 : 1;
        // A wait is a thin line: no colour alone says what it is.
        const thick = waits ? 3 : Timeline.HEIGHT - 4;
        g.fillRect(x0, y + (Timeline.HEIGHT - thick) / 2, Math.max(x1 - x0, 1), thick);
        g.globalAlpha = 1;
        if (x1 - x0 > 50 && !waits) {
          g.fillStyle = color("--back");
          g.fillText(packed.names[events.name[k]].slice(0, (x1 - x0) / 7), x0 + 4, y + 9);
        }
        drawn = x1;
      }
    }
    this.arrows(g, warm);
    canvas.dataset.from = Math.round(this.from);
    canvas.dataset.to = Math.round(this.to);
  }

  // Lines through the rows, and their numbers on a canvas that stays when the rows scroll.
  axis(g, numbers, color, height) {
    // 1, 2 or 5 times a power of ten, a label each 110 pixels at most.
    const least = ((this.to - this.from) * 110) / (this.width - Timeline.LEFT);
    const power = 10 ** Math.floor(Math.log10(least));
    const by = [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least);
    g.strokeStyle = color("--panel");
    numbers.fillStyle = color("--soft");
    for (let t = Math.ceil(this.from / by) * by; t <= this.to; t += by) {
      const x = this.at(t);
      g.beginPath();
      g.moveTo(x, 0);
      g.lineTo(x, height);
      g.stroke();
      const text = packed.unit === "ns" ? (t / 1000).toLocaleString("en") + " us"
        : t.toLocaleString("en");
      const at = Math.min(x + 2, this.width - numbers.measureText(text).width - 2);
      numbers.fillText(text, at, Timeline.AXIS / 2);
    }
  }

  // The flags that the chosen event waited for, and those that it set.
  arrows(g, warm) {
    if (this.event < 0 || !this.flags) return;
    const { events, flags } = this;
    const row = events.row[this.event], begin = events.begin[this.event];
    const end = begin + events.length[this.event];
    g.strokeStyle = warm;
    g.lineWidth = 1.5;
    for (let k = 0; k < flags.set.length; ++k) {
      const here = flags.to[k] === row && flags.seen[k] >= begin - 2 && flags.seen[k] <= end;
      const there = flags.from[k] === row && flags.set[k] >= begin && flags.set[k] <= end + 1000 &&
        this.setter(flags.from[k], flags.set[k]) === this.event;
      if (!here && !there) continue;
      const x0 = this.at(flags.set[k]), x1 = this.at(flags.seen[k]);
      const y0 = this.y(flags.from[k]) + 9, y1 = this.y(flags.to[k]) + 9;
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + 20, y0, x1 - 20, y1, x1, y1);
      g.lineTo(x1 - 5, y1 - 4);
      g.moveTo(x1, y1);
      g.lineTo(x1 - 5, y1 + 4);
      g.stroke();
    }
  }
  setter(row, time) {
    let k = this.search(row, time);
    if (k >= this.first[row + 1] || this.events.begin[k] > time) --k;
    return k;
  }

  // The first event of a row that ends after the time.
  search(row, time) {
    let low = this.first[row], high = this.first[row + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events.begin[middle] + this.events.length[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  tell(k) {
    this.event = k;
    const { events } = this;
    const text = k < 0 ? "" :
      packed.rows[events.row[k]] + ": " + packed.names[events.name[k]] + " of " +
      packed.kernels[events.kernel[k]] + ", " + events.length[k].toLocaleString("en") + " " +
      packed.unit + " from " + events.begin[k].toLocaleString("en");
    document.getElementById("shown").textContent = text;
    said.textContent = text;
    if (k >= 0) {
      const middle = events.begin[k] + events.length[k] / 2, half = (this.to - this.from) / 2;
      if (middle < this.from || middle > this.to) this.show(middle - half, middle + half);
      const rows = this.canvas.parentElement, y = this.y(events.row[k]);
      if (y < rows.scrollTop || y > rows.scrollTop + rows.clientHeight - Timeline.HEIGHT) {
        rows.scrollTop = y - rows.clientHeight / 2;
      }
    }
    this.draw();
  }
  choose(kernel, scroll) {
    this.kernel = kernel;
    if (kernel >= 0 && scroll) {
      const { events } = this;
      let from = this.total, to = 0;
      for (let k = 0; k < this.count; ++k) {
        if (events.kernel[k] !== kernel) continue;
        from = Math.min(from, events.begin[k]);
        to = Math.max(to, events.begin[k] + events.length[k]);
      }
      this.show(from, to);
    }
    this.draw();
  }

  wheel(e) {
    if (!e.ctrlKey) return; // which scrolls the page, or the notebook
    e.preventDefault();
    this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.time(e.offsetX));
  }
  press(e) {
    this.pressed = { x: e.offsetX, from: this.from, to: this.to, moved: false };
    this.canvas.setPointerCapture(e.pointerId);
  }
  drag(e) {
    if (!this.pressed) return;
    const by = this.time(this.pressed.x) - this.time(e.offsetX);
    if (Math.abs(e.offsetX - this.pressed.x) > 3) this.pressed.moved = true;
    if (this.pressed.moved) this.show(this.pressed.from + by, this.pressed.to + by);
  }
  release(e) {
    const moved = this.pressed && this.pressed.moved;
    this.pressed = null;
    if (moved) return;
    const row = Math.floor((e.offsetY - Timeline.TOP) / Timeline.HEIGHT);
    if (row < 0 || row >= packed.rows.length) return;
    const slack = (this.to - this.from) / 500;
    const k = this.search(row, this.time(e.offsetX) - slack);
    const hit = k < this.first[row + 1] && this.events.begin[k] <= this.time(e.offsetX) + slack;
    if (hit) {
      const name = packed.kernels[this.events.kernel[k]];
      history.replaceState(null, "", "#k=" + encodeURIComponent(name));
      select("k", name, false);
    }
    this.tell(hit ? k : -1);
  }
  key(e) {
    const span = this.to - this.from;
    const keys = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), w: () => this.zoom(0.5),
      "-": () => this.zoom(2), s: () => this.zoom(2),
      ArrowLeft: () => this.show(this.from - span / 4, this.to - span / 4),
      ArrowRight: () => this.show(this.from + span / 4, this.to + span / 4),
      a: () => this.show(this.from - span / 4, this.to - span / 4),
      d: () => this.show(this.from + span / 4, this.to + span / 4),
      0: () => this.show(0, this.total),
      n: () => this.tell(Math.min(this.event + 1, this.count - 1)),
      p: () => this.tell(Math.max(this.event - 1, 0)),
    };
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  }
}

async function start() {
  const canvas = document.getElementById("timeline");
  if (canvas) {
    const flags = packed.flags.count
      ? await unpackAll(Object.fromEntries(Object.entries(packed.flags).filter(([k]) => k !== "count")))
      : null;
    timeline = new Timeline(canvas, await unpackAll(packed.columns), flags);
    timeline.draw();
  }
  follow(true);
  root.dataset.ready = "";
}
start();

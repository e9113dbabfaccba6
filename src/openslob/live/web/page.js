"use strict";
// Shows what the server sends: everything at first, then what is new. The server decides what is seen; this draws it.
(function () {
  // The token has done its work: the cookie goes on, and nobody reads it over a shoulder.
  const record = new URLSearchParams(location.search).get("record");
  const own = record === null ? {} : { record: record };
  history.replaceState(null, "", location.pathname + (record === null ? "" : "?" + new URLSearchParams(own)));
  const $ = function (id) { return document.getElementById(id); };
  // The width that the axis' labels, which stand beside the drawing, take from a chart.
  const BESIDE = 80;
  // While a slider is moved, the server is asked this rarely.
  const PATIENCE_MS = 120;
  const pictures = new Map();
  const charts = new Map();
  let sections = {};
  let stream = null;
  let waiting = null;
  // What is shown: the end as it comes, or a moment, at a speed; 0: it stands still.
  const shown = { follows: true, at: 0, speed: 0 };

  function element(kind, text, name) {
    const made = document.createElement(kind);
    if (text !== undefined) { made.textContent = text; }
    if (name) { made.className = name; }
    return made;
  }

  function row(cells, heads) {
    const made = element("tr");
    cells.forEach(function (cell, at) {
      const box = element(heads.includes(at) ? "th" : "td", cell);
      if (heads.includes(at)) { box.scope = "row"; }
      made.append(box);
    });
    return made;
  }

  function clock(seconds) {
    if (seconds <= -1) { return "−" + clock(-seconds); }
    const whole = Math.max(Math.floor(seconds), 0), parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return (parts[0] ? parts : parts.slice(1)).map(function (part) { return String(part).padStart(2, "0"); }).join(":");
  }

  // What draws is large, and the server puts it together when it is first asked: words and figures do not wait for it.
  const library = new Promise(function (resolve, reject) {
    const script = element("script");
    script.src = "/vega.js";
    script.onload = resolve;
    script.onerror = function () { reject(new Error("what draws was not sent")); };
    document.head.append(script);
  });

  // ---- words and figures

  const tell = {
    head: function (head) {
      document.title = head.name + ": " + head.says;
      $("name").textContent = head.name;
      $("state").textContent = [head.says, head.phase].filter(Boolean).join(", ");
      $("state").className = "state " + head.state;
      $("about").textContent = head.about.join(" · ") + " · started " + head.started + " UTC";
      $("reservations").replaceChildren.apply($("reservations"), head.reservations.map(function (text) {
        return element("p", text, "banner");
      }));
      $("at").max = head.end_s || 1;
      showMoment();
    },
    read_pct: function (share) {
      $("reading").hidden = share >= 100;
      $("reading").textContent = share + " % of the record has been read; its end comes first.";
    },
    run: function () { tell.head(sections.head); },
    figures: function (given) {
      const figures = given.map(function (each) {
        const [label, means] = sections.meanings[each[0]];
        return { name: each[0], text: each[1], why: each[2], first: each[3], label: label, means: means };
      });
      $("first").replaceChildren.apply($("first"), figures.filter(function (each) { return each.first; }).map(function (each) {
        const tile = element("p", undefined, "tile");
        tile.title = each.means;
        tile.dataset.figure = each.name;
        tile.append(element("b", each.text), element("span", each.label));
        return tile;
      }));
      $("figures").replaceChildren.apply($("figures"), figures.map(function (each) {
        const made = row([each.label, each.text, each.why], [0]);
        made.title = each.means;
        made.dataset.figure = each.name;
        made.lastChild.className = "long";
        return made;
      }));
    },
    verdicts: function (verdicts) {
      $("verdicts-title").textContent = verdicts.title;
      $("verdicts").replaceChildren.apply($("verdicts"), verdicts.rows.map(function (each) {
        const made = row([each[1] + " " + each[2], each[3], each[4]], [1]);
        made.className = each[0];
        made.lastChild.className = "long";
        return made;
      }));
      const short = ["invalid", "caution", "note"].map(function (severity) {
        const rows = verdicts.rows.filter(function (each) { return each[0] === severity; });
        const names = rows.map(function (each) { return each[3]; }).join(", ");
        return rows.length ? element("p", rows[0][1] + " " + rows[0][2] + ": " + names, "short " + severity) : null;
      });
      $("short").replaceChildren.apply($("short"), short.filter(Boolean));
    },
    notes: function (notes) {
      const list = $("notes"), known = list.children.length;
      const same = notes.length >= known && notes.slice(0, known).every(function (note, at) {
        return list.children[at].dataset.note === JSON.stringify(note);
      });
      if (!same) { list.replaceChildren(); }
      notes.slice(same ? known : 0).forEach(function (note) {
        const item = element("li", undefined, note[1]);
        item.dataset.note = JSON.stringify(note);
        item.append(element("time", note[0] === null ? "" : clock(note[0])), element("span", note[2]));
        list.append(item);
      });
      list.scrollTop = list.scrollHeight;
    },
    points: function (points) {
      $("points-section").hidden = !points;
      if (!points) { return; }
      $("points-head").replaceChildren.apply($("points-head"), points.head.map(function (name) {
        const head = element("th", name);
        head.scope = "col";
        return head;
      }));
      $("points").replaceChildren.apply($("points"), points.rows.map(function (cells) { return row(cells, [0]); }));
    },
  };

  // ---- pictures

  function figure(name) {
    const made = element("figure"), title = element("h3"), chart = element("div", undefined, "chart");
    const text = element("figcaption");
    made.id = "picture-" + name;
    title.id = name + "-title";
    text.id = name + "-text";
    made.setAttribute("aria-labelledby", title.id);
    made.setAttribute("aria-describedby", text.id);
    chart.setAttribute("role", "group");
    made.append(title, chart, text);
    made.hidden = true;
    return { figure: made, title: title, chart: chart, text: text, rows: [], signals: {}, spec: "", since: Infinity };
  }

  function objects(picture, rows) {
    return rows.map(function (values) {
      return Object.fromEntries(picture.columns.map(function (column, at) { return [column, values[at]]; }));
    });
  }

  function take(patch) {
    let picture = pictures.get(patch.name);
    if (!picture) {
      picture = figure(patch.name);
      pictures.set(patch.name, picture);
      $("pictures").append(picture.figure);
    }
    picture.title.textContent = patch.title;
    picture.text.textContent = patch.text;
    picture.chart.setAttribute("aria-label", patch.title);
    picture.signals = patch.signals || {};
    picture.now = patch.now;
    if (patch.columns) {
      if (patch.columns.length) { picture.columns = patch.columns; }
      const since = patch.spec ? -Infinity : patch.since, begin = sections.axis.begin_s;
      const before = function (values) { return values[0] < since && values[0] >= begin; };
      picture.rows = picture.rows.filter(before).concat(patch.rows);
      // What the drawing lacks: of steps that come to nothing there is no row.
      picture.since = Math.min(picture.since, since);
    }
    if (patch.spec) { picture.wanted = patch.spec; }
    picture.figure.hidden = false;
    draw(patch.name, picture);
  }

  // One drawing after the other for each picture: Vega works in the background.
  function draw(name, picture) {
    picture.busy = (picture.busy || Promise.resolve()).then(function () {
      const spec = picture.wanted && JSON.stringify(picture.wanted);
      if (spec && spec !== picture.spec) {
        picture.spec = spec;
        return library.then(function () { return embed(name, picture); });
      }
      return send(name, picture);
    }).catch(function (error) {
      picture.chart.textContent = "This picture can't be drawn: " + error.message;
      throw error;
    });
  }

  function embed(name, picture) {
    const old = charts.get(name);
    if (old) { old.finalize(); }
    const spec = JSON.parse(picture.spec);
    const room = function () { return picture.chart.clientWidth - BESIDE; };
    spec.params.find(function (each) { return each.name === "legend_room"; }).value = room();
    // "ast": expressions are interpreted, so that the page need not allow to make programs of texts.
    const options = { renderer: "svg", actions: false, mode: "vega-lite", ast: true, logLevel: 1,
      tooltip: { theme: "custom" } };
    const rows = picture.now === undefined ? { rows: objects(picture, picture.rows) } : { now: picture.now };
    picture.since = Infinity;
    spec.datasets = Object.assign({}, spec.datasets, rows);
    const signals = Object.assign({}, sections.axis, picture.signals);
    spec.params.forEach(function (each) { if (each.name in signals) { each.value = signals[each.name]; } });
    return window.vegaEmbed(picture.chart, spec, options).then(function (result) {
      charts.set(name, result);
      picture.watch = picture.watch || new ResizeObserver(function () {
        const now = charts.get(name);
        if (now) { now.view.signal("legend_room", room()).resize().runAsync(); }
      });
      picture.watch.observe(picture.chart);
    });
  }

  function send(name, picture) {
    const chart = charts.get(name);
    if (!chart) { return null; }
    const view = chart.view;
    if (picture.now !== undefined) {
      return view.data("now", picture.now).runAsync();
    }
    Object.entries(Object.assign({}, sections.axis, picture.signals)).forEach(function (each) {
      view.signal(each[0], each[1]);
    });
    // Only what is new: to draw all marks again would take most of a second.
    const since = picture.since, begin = sections.axis.begin_s;
    picture.since = Infinity;
    const gone = function (row) { return row.from_s >= since || row.from_s < begin; };
    const fresh = picture.rows.filter(function (values) { return values[0] >= since; });
    const insert = function () { return view.insert("rows", objects(picture, fresh)).runAsync(); };
    // One after the other: of two changes at once, Vega forgets the first.
    return view.data("rows").some(gone) ? view.remove("rows", gone).runAsync().then(insert) : insert();
  }

  function receive(patch) {
    if (patch.trouble !== undefined) { trouble(patch.trouble); }
    if (patch.whole) {
      sections = {};
      keep(patch.pictures.map(function (each) { return each.name; }));
    }
    Object.keys(tell).concat("axis", "meanings").forEach(function (name) { if (name in patch) { sections[name] = patch[name]; } });
    Object.keys(tell).forEach(function (name) {
      if (name in patch && !(name === "run" && !patch.run)) { tell[name](patch[name]); }
    });
    if (patch.order) { arrange(patch.order); }
    const moved = "axis" in patch ? new Set(pictures.keys()) : new Set();
    (patch.pictures || []).forEach(function (each) { moved.delete(each.name); take(each); });
    moved.forEach(function (name) { draw(name, pictures.get(name)); });
    $("none").hidden = Array.from(pictures.values()).some(function (each) { return !each.figure.hidden; });
    if (patch.ended) { ended(); }
  }

  function keep(names) {
    Array.from(pictures.keys()).forEach(function (name) {
      if (names.includes(name)) { return; }
      const chart = charts.get(name);
      if (chart) { chart.finalize(); }
      pictures.get(name).figure.remove();
      pictures.delete(name);
      charts.delete(name);
    });
  }

  function arrange(order) {
    keep(order);
    order.forEach(function (name) {
      if (!pictures.has(name)) { pictures.set(name, figure(name)); }
      $("pictures").append(pictures.get(name).figure);
    });
  }

  // ---- time

  function trouble(text) {
    $("trouble").hidden = !text;
    $("trouble").textContent = text;
    document.body.classList.toggle("old", Boolean(text));
  }

  function open() {
    if (stream) { stream.close(); }
    const query = new URLSearchParams(Object.assign({ span: $("span").value }, own));
    if (!shown.follows) {
      query.set("at", shown.at);
      query.set("speed", shown.speed);
    }
    stream = new EventSource("/events?" + query);
    stream.onopen = function () { trouble(""); };
    stream.onmessage = function (event) { receive(JSON.parse(event.data)); };
    stream.onerror = function () {
      trouble("The connection is lost: slob live has ended, or does not answer. What is shown is as it was at " +
        new Date().toLocaleTimeString() + ". It goes on by itself if slob live does.");
    };
    showMoment();
  }

  function ended() {
    stream.close();
    if (shown.speed && sections.head.state === "running") { return follow(); }
    shown.speed = 0;
    showMoment();
    return undefined;
  }

  function showMoment() {
    const head = sections.head, run = sections.run;
    if (!head) { return; }
    const title = run && run.state !== "running" ? "Figures of the last run" :
      shown.follows && head.state === "running" ? "Figures now" : "Figures";
    $("figures-title").textContent = run ? title + ": " + run.name + ", " + run.about.slice(-1)[0] : title;
    const at = shown.follows ? head.end_s : head.elapsed_s;
    if (!shown.follows) { shown.at = at; }
    if (!waiting) { $("at").value = at; }
    const planned = head.planned_s && head.state === "running" ? " planned: " + clock(head.planned_s) : "";
    $("clock").textContent = clock(at) + " of " + clock(head.end_s) + (planned && "," + planned);
    $("at").setAttribute("aria-valuetext", $("clock").textContent);
    const moves = shown.follows ? head.state === "running" : shown.speed > 0;
    $("play").textContent = moves ? "Pause" : "Play";
    $("live").textContent = head.state === "running" ? "Live" : "To the end";
    $("live").setAttribute("aria-pressed", String(shown.follows));
  }

  function follow() {
    shown.follows = true;
    open();
  }

  function show(at, speed) {
    const end = sections.head.end_s;
    if (at >= end && sections.head.state === "running") { follow(); return; }
    shown.follows = false;
    shown.at = Math.min(Math.max(at, 0), end);
    shown.speed = speed;
    if (waiting) { clearTimeout(waiting); }
    $("at").value = shown.at;
    waiting = setTimeout(function () { waiting = null; open(); }, PATIENCE_MS);
  }

  function play() {
    const head = sections.head;
    if (!head) { return; }
    const at = shown.follows ? head.end_s : shown.at;
    const moves = shown.follows ? head.state === "running" : shown.speed > 0;
    if (moves) { show(Math.min(at, head.end_s - 1e-3), 0); return; }
    show(at >= head.end_s && head.state !== "running" ? 0 : at, Number($("speed").value));
  }

  function pick(select, by) {
    const at = Math.min(Math.max(select.selectedIndex + by, 0), select.options.length - 1);
    if (at !== select.selectedIndex) {
      select.selectedIndex = at;
      select.dispatchEvent(new Event("change"));
    }
  }

  function jump(parts) {
    const head = sections.head, span = Number($("span").value) || head.end_s;
    show((shown.follows ? head.end_s : shown.at) + parts * span / 20, 0);
  }

  const keys = {
    " ": play,
    "ArrowLeft": function () { jump(-1); },
    "ArrowRight": function () { jump(1); },
    "Home": function () { show(0, 0); },
    "End": follow,
    "+": function () { pick($("speed"), 1); },
    "-": function () { pick($("speed"), -1); },
    "z": function () {
      const span = $("span");
      span.selectedIndex = (span.selectedIndex + 1) % span.options.length;
      open();
    },
  };

  document.addEventListener("keydown", function (event) {
    const theirs = event.target.closest("a, input, select, button, summary, [tabindex]") && event.key !== "z";
    if (event.ctrlKey || event.metaKey || event.altKey || theirs || !keys[event.key] || !sections.head) { return; }
    event.preventDefault();
    keys[event.key]();
  });
  $("play").addEventListener("click", play);
  $("live").addEventListener("click", follow);
  $("at").addEventListener("input", function () { if (sections.head) { show(Number($("at").value), 0); } });
  $("speed").addEventListener("change", function () {
    if (!shown.follows && shown.speed) { show(shown.at, Number($("speed").value)); }
  });
  $("span").addEventListener("change", open);
  $("all").hidden = record === null;
  // For tests: what is drawn.
  window.charts = charts;
  open();
})();

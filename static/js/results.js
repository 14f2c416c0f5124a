// Pictures of analyses, drawn by echarts from the same JSON as the table under them; PNG and SVG of them; sorted tables.
(() => {
  "use strict";

  // Okabe and Ito's palette, which people with any colour blindness tell apart; without black, and with yellow last.
  const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow"];
  const DASHES = ["solid", "dashed", "dotted"];
  // Where colours begin anew symbols go on, so that no two series look the same.
  const symbolOf = (at) => SYMBOLS[(at + Math.floor(at / PALETTE.length)) % SYMBOLS.length];
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const drawn = new Map();

  function colours(light) {
    if (light) return { text: "#1a1f27", quiet: "#626c7a", line: "#e1e4e9", surface: "#ffffff", cold: "#f1f3f6", warm: "#0072b2" };
    // a colour that the browser worked out: echarts does not know light-dark()
    const probe = document.body.appendChild(document.createElement("span"));
    const of = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
    const found = {
      text: of("--wb-text"), quiet: of("--wb-text-2"), line: of("--wb-line"), surface: of("--wb-surface"),
      cold: of("--wb-h0"), warm: of("--wb-h4"),
    };
    probe.remove();
    return found;
  }

  const SCALE = { percent: 100 };
  const scaled = (value, kind) => (value === null || value === undefined ? null : value * (SCALE[kind] ?? 1));
  const words = (value, kind) => {
    if (value === null || value === undefined || value === "-") return "–";
    if (kind === "percent") return `${Number(value).toFixed(1)}%`;
    if (kind === "money") return `$${Number(value).toFixed(4)}`;
    return Number.isInteger(value) ? String(value) : Number(value).toFixed(3);
  };
  const short = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);
  const distinct = (rows, key) => [...new Set(rows.map((row) => String(row[key])))];
  // The names of rows take at most a third of the picture, so that something is left of it on a phone.
  const nameWidth = (width) => Math.min(200, Math.round(width / 3));

  function axis(kind, name, colour, extra = {}) {
    return {
      type: "value", name, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: colour.quiet },
      minInterval: kind === "count" ? 1 : undefined,
      axisLabel: { color: colour.quiet, hideOverlap: true, formatter: kind === "percent" ? "{value}%" : undefined },
      splitLine: { lineStyle: { color: colour.line } }, ...extra,
    };
  }
  function categories(names, colour, label = {}, extra = {}) {
    return {
      type: "category", data: names, axisTick: { show: false }, axisLine: { lineStyle: { color: colour.line } },
      axisLabel: { color: colour.text, formatter: (name) => short(String(name)), interval: 0, ...label }, ...extra,
    };
  }
  const rowNames = (names, colour, width) =>
    categories(names, colour, { width: nameWidth(width), overflow: "break", lineHeight: 14 }, { inverse: true });

  // Each shape gives the options of echarts and the height of the picture.
  const shapes = {
    bars(data, columns, colour, width) {
      const { picture, rows } = data;
      const names = distinct(rows, picture.x);
      const groups = picture.series ? distinct(rows, picture.series) : [""];
      // where the palette begins again, stripes tell one series from the other of its colour
      const decal = (at) => (at < PALETTE.length ? undefined : { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 4], rotation: Math.PI / 4, color: colour.surface });
      const sum = (row) => picture.y.reduce((all, key) => all + (row[key] ?? 0), 0);
      const parts = picture.stacked && rows.every((row) => Math.abs(sum(row) - 1) < 1e-6);
      const series = groups.flatMap((group) => picture.y.map((key, at) => {
        const mine = new Map(rows.filter((row) => !group || String(row[picture.series]) === group)
          .map((row) => [String(row[picture.x]), scaled(row[key], columns[key].kind)]));
        return {
          name: group || columns[key].label, type: "bar", stack: picture.stacked ? "all" : undefined, barMaxWidth: 22,
          data: names.map((name) => mine.get(name) ?? null),
          itemStyle: { borderColor: colour.surface, borderWidth: 1, decal: decal(at) },
        };
      }));
      const each = picture.stacked ? 26 : 14 + 14 * series.length;
      const kind = columns[picture.y[0]].kind;
      return {
        height: 72 + each * names.length,
        options: {
          xAxis: axis(kind, "", colour, parts ? { max: 100 } : {}), yAxis: rowNames(names, colour, width), series,
          tooltip: { trigger: "axis", valueFormatter: (value) => words(value, kind) },
        },
      };
    },
    intervals(data, columns, colour, width) {
      const { picture, rows } = data;
      const kind = columns[picture.y[0]].kind;
      // with series, the rows of one x stand beside each other on its line
      const names = picture.series ? distinct(rows, picture.x) : rows.map((row) => String(row[picture.x]));
      const groups = picture.series ? distinct(rows, picture.series) : [""];
      const each = groups.flatMap((group) => picture.y.map((key) => [group, key]));
      const series = each.map(([group, key], which) => {
        const column = columns[key];
        const mine = rows.filter((row) => !picture.series || String(row[picture.series]) === group);
        return {
          name: group || column.label, type: "custom",
          data: mine.map((row, at) => [
            picture.series ? names.indexOf(String(row[picture.x])) : at,
            ...[key, column.low || key, column.high || key].map((k) => scaled(row[k], kind)),
          ]),
          encode: { x: [1, 2, 3], y: 0, tooltip: [1, 2, 3] },
          renderItem(_parameters, api) {
            if (api.value(1) === null || Number.isNaN(api.value(1))) return null;
            const shift = (which - (each.length - 1) / 2) * 9;
            const [x, y] = api.coord([api.value(1), api.value(0)]);
            const style = { stroke: api.visual("color"), fill: api.visual("color"), lineWidth: 2 };
            const parts = [{ type: "circle", shape: { cx: x, cy: y + shift, r: 4.5 }, style }];
            const [low] = api.coord([api.value(2), api.value(0)]);
            const [high] = api.coord([api.value(3), api.value(0)]);
            if (Number.isFinite(low) && Number.isFinite(high)) {
              const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1: y1 + shift, x2, y2: y2 + shift }, style });
              parts.push(line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4));
            }
            return { type: "group", children: parts };
          },
        };
      });
      return {
        height: 72 + names.length * (14 + 10 * each.length),
        options: {
          xAxis: axis(kind, "", colour, { scale: true }), yAxis: rowNames(names, colour, width), series,
          tooltip: {
            trigger: "item",
            formatter: ({ seriesName, value }) => {
              const [at, middle, low, high] = value;
              return `${names[at]}\n${seriesName}: ${words(middle, kind)} (${words(low, kind)} to ${words(high, kind)})`;
            },
          },
        },
      };
    },
    matrix(data, columns, colour, width) {
      const { picture, rows } = data;
      const names = rows.map((row) => String(row[picture.x]));
      const heads = picture.y.map((key) => columns[key].label);
      const kind = columns[picture.y[0]].kind;
      const cells = rows.flatMap((row, at) => picture.y.map((key, x) => [x, at, scaled(row[key], kind)]));
      const found = cells.map((cell) => cell[2]).filter((value) => value !== null);
      // Counts are ranks: the first is the strongest.
      const ranks = kind === "count";
      const ends = kind === "percent" ? [0, 100] : ranks ? [1, Math.max(2, ...found)] : [Math.min(0, ...found), Math.max(1, ...found)];
      const shades = ranks ? [colour.warm, colour.cold] : [colour.cold, colour.warm];
      const ink = (value) => {
        const { lum, lerp } = echarts.color;
        const back = lum(lerp((value - ends[0]) / (ends[1] - ends[0]), shades), 1);
        const contrast = (one) => Math.abs(lum(one, 1) - back);
        return contrast(colour.text) > contrast(colour.surface) ? colour.text : colour.surface;
      };
      // Names stand upright over narrow columns; over wide ones they are read as any text.
      const cell = (width - nameWidth(width) - 60) / heads.length;
      const upright = cell < 100;
      const longest = Math.max(...heads.map((head) => short(head).length));
      const label = upright ? { rotate: 90 } : { width: cell - 12, overflow: "break", lineHeight: 14 };
      return {
        height: 96 + (upright ? 7 * longest : 24) + 32 * rows.length,
        options: {
          xAxis: categories(heads, colour, label, { position: "top" }),
          yAxis: rowNames(names, colour, width),
          visualMap: {
            min: ends[0], max: ends[1], calculable: false, orient: "horizontal", left: "center", bottom: 0, itemHeight: 90,
            textStyle: { color: colour.quiet }, inRange: { color: shades }, text: [words(ends[1], kind), words(ends[0], kind)],
          },
          series: [{
            type: "heatmap",
            data: cells.map(([x, y, value]) => ({
              value: [x, y, value ?? "-"], label: value === null ? undefined : { color: ink(value) },
            })),
            label: { show: cell > 46, formatter: ({ value }) => words(value[2], kind) },
            itemStyle: { borderColor: colour.surface, borderWidth: 1 },
          }],
          tooltip: {
            trigger: "item",
            formatter: ({ value }) => `${names[value[1]]} / ${heads[value[0]]}: ${words(value[2], kind)}`,
          },
        },
      };
    },
    lines(data, columns, colour) {
      const { picture, rows } = data;
      const ticks = distinct(rows, picture.x);
      const kind = columns[picture.y[0]].kind;
      const groups = picture.series ? distinct(rows, picture.series) : [""];
      // A group has one colour and one symbol; its columns differ in how the line is drawn.
      const series = groups.flatMap((group, which) => picture.y.map((key, at) => {
        const look = groups.length > 1 ? which : at;
        const mine = rows.filter((row) => !picture.series || String(row[picture.series]) === group);
        const by = new Map(mine.map((row) => [String(row[picture.x]), scaled(row[key], kind)]));
        const name = [group, picture.y.length > 1 || !group ? columns[key].label : ""].filter(Boolean).join(", ");
        return {
          name, type: "line", symbolSize: 8, symbol: symbolOf(look), color: PALETTE[look % PALETTE.length],
          lineStyle: { type: groups.length > 1 ? DASHES[at % DASHES.length] : "solid" },
          connectNulls: false, data: ticks.map((tick) => by.get(tick) ?? null),
        };
      }));
      return {
        height: 340,
        options: {
          xAxis: categories(ticks, colour, { boundaryGap: true }), yAxis: axis(kind, "", colour), series,
          tooltip: { trigger: "axis", valueFormatter: (value) => words(value, kind) },
        },
      };
    },
    scatter(data, columns, colour) {
      const { picture, rows } = data;
      const [key] = picture.y;
      const known = rows.filter((row) => row[picture.x] !== null && row[key] !== null);
      const groups = picture.series ? distinct(known, picture.series) : [""];
      const series = groups.map((group, at) => ({
        name: group || columns[key].label, type: "scatter", symbolSize: 11, symbol: symbolOf(at),
        data: known.filter((row) => !picture.series || String(row[picture.series]) === group)
          .map((row) => [scaled(row[picture.x], columns[picture.x].kind), scaled(row[key], columns[key].kind)]),
      }));
      return {
        height: 360,
        options: {
          xAxis: axis(columns[picture.x].kind, columns[picture.x].label, colour, { scale: true }),
          yAxis: axis(columns[key].kind, columns[key].label, colour, { scale: true, nameGap: 40 }), series,
          tooltip: {
            trigger: "item",
            formatter: ({ seriesName, value }) =>
              `${seriesName}: ${words(value[0], columns[picture.x].kind)}, ${words(value[1], columns[key].kind)}`,
          },
        },
      };
    },
  };

  // The legend shows every series at once; how many lines it takes is told from the lengths of the names.
  function legendOf(names, width, colour) {
    let lines = 1;
    let used = 0;
    for (const name of names) {
      const wide = 44 + 6.6 * name.length;
      if (used && used + wide > width - 32) { lines += 1; used = 0; }
      used += wide;
    }
    return { height: lines * 22, legend: { type: "plain", top: 0, itemGap: 10, itemHeight: 12, itemWidth: 20, textStyle: { color: colour.text } } };
  }

  function optionsOf(data, colour, width) {
    const columns = Object.fromEntries(data.columns.map((column) => [column.key, column]));
    const { height, options } = shapes[data.picture.shape](data, columns, colour, width);
    const names = options.series.map((one) => one.name).filter(Boolean);
    const named = names.length > 1 ? legendOf(names, width, colour) : { height: 0 };
    return {
      height: height + named.height,
      options: {
        color: PALETTE, animation: !still.matches, backgroundColor: "transparent",
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colour.text },
        legend: named.legend,
        // a name beside an axis is no part of what the grid makes room for
        grid: { left: data.picture.shape === "scatter" ? 32 : 12, right: 24, top: named.height + 14, bottom: data.picture.shape === "matrix" ? 48 : 24, containLabel: true },
        ...options,
        // drawn on the canvas: markup with styles of its own is not let through by the policy of the page
        tooltip: {
          renderMode: "richText", confine: true, backgroundColor: colour.surface, borderColor: colour.line,
          textStyle: { color: colour.text }, ...options.tooltip,
        },
      },
    };
  }

  function draw(place) {
    const data = JSON.parse(document.getElementById(place.dataset.picture).textContent);
    const { height, options } = optionsOf(data, colours(false), place.clientWidth);
    place.style.height = `${height}px`;
    let chart = drawn.get(place);
    if (!chart) {
      chart = echarts.init(place, null, { renderer: "canvas" });
      drawn.set(place, chart);
      let wide = place.clientWidth;
      new ResizeObserver(() => {
        if (wide !== place.clientWidth) { wide = place.clientWidth; draw(place); }
      }).observe(place);
    }
    chart.resize();
    chart.setOption(options, true);
  }
  const places = [...document.querySelectorAll("[data-picture]")];
  const redraw = () => places.forEach(draw);
  redraw();
  document.fonts?.ready.then(redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Pictures for a paper are always light, whatever the page is.
  function save(kind, place) {
    const data = JSON.parse(document.getElementById(place.dataset.picture).textContent);
    const width = Math.max(640, place.clientWidth);
    const { height, options } = optionsOf(data, colours(true), width);
    const size = { width, height };
    const svg = kind === "svg";
    const host = svg ? null : document.createElement("div");
    const chart = echarts.init(host, null, svg ? { renderer: "svg", ssr: true, ...size } : { ...size, devicePixelRatio: 2 });
    chart.setOption({ ...options, animation: false, backgroundColor: "#ffffff" });
    const url = svg
      ? URL.createObjectURL(new Blob([chart.renderToSVGString()], { type: "image/svg+xml" }))
      : chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: "#ffffff" });
    chart.dispose();
    const link = Object.assign(document.createElement("a"), { href: url, download: `${place.closest("section").id}.${kind}` });
    link.click();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (button) save(button.dataset.save, button.closest("section").querySelector("[data-picture]"));
  });

  // On a phone the list of analyses is one line that scrolls: show where one is in it.
  const here = document.querySelector(".ev-analyses [aria-current]");
  const list = here?.closest(".ev-analyses");
  if (list) list.scrollLeft = here.offsetLeft - (list.clientWidth - here.offsetWidth) / 2;

  // Tables sorted by a column: numbers downwards first, what is undefined always last.
  for (const table of document.querySelectorAll(".ev-sortable")) {
    const [body] = table.tBodies;
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isNumeric = head.classList.contains("wb-num");
        const was = head.getAttribute("aria-sort");
        const now = was ? (was === "ascending" ? "descending" : "ascending") : isNumeric ? "descending" : "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", now);
        const sign = now === "ascending" ? 1 : -1;
        const value = (row) => row.cells[at].dataset.value;
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          return sign * (isNumeric ? Number(x) - Number(y) : x.localeCompare(y));
        });
        body.append(...rows);
      });
    });
  }
})();

'use strict';
// Small charts as SVG. Colours come from the style sheet, classes c0 to c7; every chart has a text
// alternative.

const SVG = 'http://www.w3.org/2000/svg';

// An HTML element; text is never parsed as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function segment(x1, y1, x2, y2, kind) { return shape('line', {x1, y1, x2, y2, class: kind}); }

// Text at a point; anchor: 'start', 'middle' or 'end'.
function label(x, y, anchor, text) { return shape('text', {x, y, 'text-anchor': anchor}, text); }

// "0.0012", "12,300", "1.2e-7": four significant digits at most.
function short(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(1).replace('e+', 'e');
  return value.toLocaleString('en-US', {maximumSignificantDigits: 4});
}

// A count, with all of its digits.
function whole(value) { return value.toLocaleString('en-US'); }

// Numbers 1, 2, 5 times powers of ten within [low, high].
function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((multiple) => multiple * power >= raw) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push(i * step + 0);
  return found;
}

function logTicks(low, high, count) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const multiple of [1, 2, 5]) {
      const value = multiple * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  const every = Math.ceil(found.length / count);
  return found.filter((_, i) => i % every === 0);
}

// Maps numbers to pixels.
function makeScale(values, from, to, isLog, count) {
  let low = Math.min(...values), high = Math.max(...values);
  if (low === high) {
    low = isLog ? low / 2 : low - (Math.abs(low) / 10 || 1);
    high = isLog ? high * 2 : high + (Math.abs(high) / 10 || 1);
  } else if (isLog) {
    const margin = (high / low) ** 0.06;
    low /= margin;
    high *= margin;
  } else {
    const margin = (high - low) * 0.05;
    low -= margin;
    high += margin;
  }
  const bend = isLog ? Math.log10 : (value) => value;
  const place = (value) =>
      from + ((bend(value) - bend(low)) / (bend(high) - bend(low))) * (to - from);
  return {place, ticks: isLog ? logTicks(low, high, count) : ticks(low, high, count)};
}

const MARGIN = {
  left: 52,
  right: 14,
  top: 12,
  bottom: 40
};

function widthOf(options) { return Math.max(260, Math.min(options.width || 480, 640)); }

// The frame of a chart: axes with numbers and names. `xs` and `ys` are all values that must fit.
function makeFrame(options, xs, ys) {
  const width = widthOf(options), height = options.height || 240;
  const x =
      makeScale(xs, MARGIN.left, width - MARGIN.right, options.logX, Math.max(3, width / 110));
  const y = makeScale(ys, height - MARGIN.bottom, MARGIN.top, options.logY, 5);
  const picture = shape('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    class: 'chart',
    'aria-label': options.alternative
  });
  for (const value of options.hidesY ? [] : y.ticks) {
    picture.append(
        segment(MARGIN.left, y.place(value), width - MARGIN.right, y.place(value), 'grid'),
        label(MARGIN.left - 6, y.place(value) + 4, 'end', short(value)));
  }
  for (const value of x.ticks) {
    picture.append(
        segment(
            x.place(value), height - MARGIN.bottom, x.place(value), height - MARGIN.bottom + 4,
            'axis'),
        label(x.place(value), height - MARGIN.bottom + 17, 'middle', short(value)));
  }
  picture.append(
      segment(
          MARGIN.left, height - MARGIN.bottom, width - MARGIN.right, height - MARGIN.bottom,
          'axis'),
      label((MARGIN.left + width - MARGIN.right) / 2, height - 5, 'middle', options.xName));
  return {picture, x, y, width, height};
}

function isNumber(value) { return typeof value === 'number' && Number.isFinite(value); }

function pathOf(points, frame) {
  return points
      .map(
          ([x, y], i) =>
              `${i ? 'L' : 'M'}${frame.x.place(x).toFixed(1)} ${frame.y.place(y).toFixed(1)}`)
      .join('');
}

function drawSeries(series, number, frame) {
  const color = `c${number % 8}`;
  if (series.band && series.band.length > 1) {
    const upper = series.band.map(([x, , high]) => [x, high]);
    const lower = series.band.map(([x, low]) => [x, low]).reverse();
    frame.picture.append(
        shape('path', {d: `${pathOf(upper.concat(lower), frame)}Z`, class: `band ${color}`}));
  }
  frame.picture.append(shape('path', {
    d: pathOf(series.points, frame),
    class: `line ${color}${number >= 8 || series.isDashed ? ' dashed' : ''}`
  }));
  if (!series.hasMarks && series.points.length > 1) return;
  for (const [x, y] of series.points)
    frame.picture.append(shape(
        'circle', {cx: frame.x.place(x), cy: frame.y.place(y), r: 2.5, class: `mark ${color}`}));
}

function sampleOf(number, isDashed) {
  const sample = shape('svg', {viewBox: '0 0 22 10', width: 22, height: 10, 'aria-hidden': 'true'});
  sample.append(
      shape('path', {d: 'M1 5H21', class: `line c${number % 8}${isDashed ? ' dashed' : ''}`}));
  return sample;
}

// "Loss. train: 2.3 at 50 to 1.9 at 500": what a picture shows, in words.
function describe(title, series) {
  const parts = series.map((one) => {
    const first = one.points[0], last = one.points[one.points.length - 1];
    return `${one.label}: ${short(first[1])} at ${short(first[0])} to ${short(last[1])} at ${
        short(last[0])}`;
  });
  return `${title}. ${parts.join('; ')}`;
}

// A figure of curves: series have a label, points [x, y], and perhaps a band [x, low, high]. null
// without any point.
function lineChart(options, allSeries) {
  const series =
      allSeries
          .map(
              (one) =>
                  ({...one, points: one.points.filter(([x, y]) => isNumber(x) && isNumber(y))}))
          .filter((one) => one.points.length > 0);
  if (series.length === 0) return null;
  const xs = series.flatMap((one) => one.points.map(([x]) => x));
  const ys = series.flatMap(
      (one) =>
          one.points.map(([, y]) => y).concat((one.band || []).flatMap(([, low,
                                                                         high]) => [low, high])));
  const frame = makeFrame({...options, alternative: describe(options.title, series)}, xs, ys);
  series.forEach((one, number) => drawSeries(one, number, frame));
  const legend = element('ul', {class: 'legend'});
  series.forEach(
      (one, number) => legend.append(
          element('li', {}, sampleOf(number, number >= 8 || one.isDashed), ` ${one.label}`)));
  return element('figure', {}, element('figcaption', {}, options.title), frame.picture, legend);
}

// Where a name may stand beside a point, best first: offsets of its anchor and of its base line,
// and the share of the name to the left of the anchor.
const LABEL_PLACES = [
  [8, 4, 0], [-8, 4, 1], [-0.5, -9, 0.5], [-0.5, 18, 0.5], [7, -8, 0], [-7, -8, 1], [7, 17, 0],
  [-7, 17, 1]
];

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

// Names a point where that hides no other point or name; a name that fits nowhere is a tooltip
// only.
function placeLabel(point, taken, frame) {
  const text = point.label.length > 28 ? `${point.label.slice(0, 27)}…` : point.label;
  const width = 7.4 * text.length;
  for (const [dx, dy, share] of LABEL_PLACES) {
    const left = point.left + dx - share * width, base = point.top + dy;
    const box = {left, right: left + width, top: base - 10, bottom: base + 3};
    const isInside = box.left >= 2 && box.right <= frame.width - 2 && box.top >= 0 &&
        box.bottom <= frame.height - MARGIN.bottom;
    if (!isInside || taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    frame.picture.append(
        label(point.left + dx, base, {0: 'start', 0.5: 'middle', 1: 'end'}[share], text));
    return;
  }
}

function drawPoint(point, frame) {
  const x = frame.x.place(point.x), y = frame.y.place(point.y);
  if (isNumber(point.low) && isNumber(point.high))
    frame.picture.append(
        segment(x, frame.y.place(point.low), x, frame.y.place(point.high), 'whisker c0'));
  const circle = shape('circle', {cx: x, cy: y, r: 4, class: 'mark c0'});
  circle.append(shape('title', {}, point.label));
  frame.picture.append(circle);
  return {left: x, top: y, label: point.label};
}

// A figure of named points {label, x, y, low, high}; x is logarithmic. null without any point.
function pointChart(options, points) {
  const shown = points.filter((point) => isNumber(point.y) && point.x > 0);
  if (shown.length === 0) return null;
  const ys = shown.flatMap((point) => [point.y, point.low, point.high].filter(isNumber));
  const words =
      shown.map((point) => `${point.label}: ${short(point.y)} for ${short(point.x)}`).join('; ');
  const frame = makeFrame(
      {...options, logX: true, alternative: `${options.title}. ${words}`},
      shown.map((point) => point.x), ys);
  const drawn = shown.map((point) => drawPoint(point, frame));
  const taken = drawn.map(
      ({left, top}) => ({left: left - 4, right: left + 4, top: top - 4, bottom: top + 4}));
  for (const point of drawn) placeLabel(point, taken, frame);
  return element('figure', {}, element('figcaption', {}, options.title), frame.picture);
}

// A text in lines that fit into so many pixels, as far as its words do.
function wrap(text, width) {
  const most = Math.floor(width / 6.6), lines = [];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= most)
      lines[last] += ` ${word}`;
    else
      lines.push(word);
  }
  return lines;
}

// A figure of effects with their intervals, a line each: {title, unit, effects: [{label, value,
// low, high}]}.
function effectChart(design, width) {
  const effects = design.effects.filter((effect) => isNumber(effect.value));
  if (effects.length === 0) return null;
  const places = effects.map((_, i) => i);
  const words = effects
                    .map(
                        (effect) => `${effect.label}: ${short(effect.value)}, from ${
                            short(effect.low)} to ${short(effect.high)}`)
                    .join('; ');
  const title = `${design.title}: effects in ${design.unit}, with their intervals`;
  const xs =
      effects.flatMap((effect) => [effect.value, effect.low, effect.high, 0].filter(isNumber));
  const names = effects.map((effect) => wrap(effect.label, widthOf({width}) - 8));
  const above = 14 * (Math.max(...names.map((lines) => lines.length)) - 1), row = 34 + above;
  const frame = makeFrame(
      {
        width,
        height: 60 + row * effects.length,
        xName: design.unit,
        hidesY: true,
        alternative: `${title}. ${words}`
      },
      xs, [-0.7, ...places, effects.length - 1 + above / row]);
  const top = frame.y.place(effects.length - 1), bottom = frame.y.place(-0.7);
  frame.picture.append(segment(frame.x.place(0), top - 8, frame.x.place(0), bottom, 'axis'));
  effects.forEach((effect, i) => {
    const y = frame.y.place(effects.length - 1 - i);
    if (isNumber(effect.low) && isNumber(effect.high))
      frame.picture.append(segment(
          frame.x.place(effect.low), y + 8, frame.x.place(effect.high), y + 8, 'whisker c0'));
    frame.picture.append(
        shape('circle', {cx: frame.x.place(effect.value), cy: y + 8, r: 4, class: 'mark c0'}),
        ...names[i].map((line, n) => label(4, y - 14 * (names[i].length - 1 - n), 'start', line)));
  });
  return element('figure', {}, element('figcaption', {}, title), frame.picture);
}

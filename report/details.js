// What a cell opens: the runs behind it, read from the embedded JSON only then.

// Tables of rows of texts or nodes; the first cell of a row is its head.
function makeTable(caption, head, rows) {
  const table = element('table', {}, element('caption', {}, element('span', {}, caption)));
  if (head)
    table.append(element(
        'thead', {},
        element('tr', {}, ...head.map((text) => element('th', {scope: 'col'}, text)))));
  const body = element('tbody');
  for (const row of rows)
    body.append(element(
        'tr', {},
        ...row.map((cell, i) => element(i ? 'td' : 'th', i ? {} : {scope: 'row'}, cell))));
  table.append(body);
  return element(
      'div', {class: 'scroll', role: 'group', tabindex: '0', 'aria-label': caption}, table);
}

function fold(summary, ...content) {
  return element('details', {}, element('summary', {}, summary), ...content);
}

function bytes(count) {
  return count >= 1e9 ? `${short(count / 1e9)} GB` : `${short(count / 1e6)} MB`;
}

function time(seconds) {
  const [unit, name] = seconds >= 5400 ? [3600, 'h'] : seconds >= 90 ? [60, 'min'] : [1, 's'];
  return `${Number((seconds / unit).toPrecision(3))} ${name}`;
}

// The mean over seeds at the steps that all of them have, and a band from the lowest to the
// highest.
function overSeeds(label, curves, scale, isDashed) {
  const byStep = new Map();
  for (const curve of curves) {
    curve.step.forEach((step, i) => {
      if (!isNumber(curve.value[i])) return;
      if (!byStep.has(step)) byStep.set(step, []);
      byStep.get(step).push(scale * curve.value[i]);
    });
  }
  const steps = [...byStep.keys()]
                    .sort((a, b) => a - b)
                    .filter((step) => byStep.get(step).length === curves.length);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    label,
    isDashed,
    points: steps.map((step) => [step, mean(byStep.get(step))]),
    band: curves.length < 2 ?
        [] :
        steps.map((step) => [step, Math.min(...byStep.get(step)), Math.max(...byStep.get(step))]),
  };
}

function curveFigures(runs, metric, width) {
  const curves = runs.filter((run) => run.curve).map((run) => run.curve);
  if (curves.length === 0) return [];
  const seeds = curves.length === 1 ? '1 seed' :
                                      `mean of ${curves.length} seeds, band from lowest to highest`;
  const pick = (name) => curves.map((curve) => curve[name]).filter((one) => one.step.length > 0);
  const pair = (train, validation, scale) => [overSeeds('train', pick(train), scale, true), {
    ...overSeeds('validation', pick(validation), scale),
    hasMarks: true
  }];
  const figures = [
    lineChart(
        {title: `Loss in nats (${seeds})`, xName: 'step', width},
        pair('train_loss', 'validation_loss', 1)),
    lineChart(
        {title: `${metric.axisTitle} (${seeds})`, xName: 'step', width},
        pair('train', 'validation', metric.scale)),
  ].filter(Boolean);
  return figures.length ?
      [element('h3', {}, 'Training'), element('div', {class: 'figures'}, ...figures)] :
      [];
}

// What attentions learned of their own choices: the mean over layers, heads and seeds, and a band
// from the lowest to the highest of all of them.
function learnedFigures(runs, width) {
  const curves =
      runs.filter((run) => run.curve && run.curve.learned).map((run) => run.curve.learned);
  const names = [...new Set(curves.flatMap((curve) => Object.keys(curve)))].sort();
  const figures = names.map((name) => {
    const pick = (part) => curves.filter((curve) => curve[name]).map((curve) => curve[name][part]);
    const series = overSeeds('mean', pick('mean'), 1);
    series.hasMarks = true;
    const ends = overSeeds('', pick('low').concat(pick('high')), 1);
    return lineChart(
        {
          title: `Learned ${name} (band from lowest to highest of all layers, heads and seeds)`,
          xName: 'step',
          width
        },
        [{...series, band: ends.band}]);
  });
  const drawn = figures.filter(Boolean);
  return drawn.length ?
      [element('h3', {}, 'Learned choices'), element('div', {class: 'figures'}, ...drawn)] :
      [];
}

// Counts summed over seeds; the share of a label's examples colours a cell.
function confusionTable(runs) {
  const known = runs.filter((run) => run.confusion);
  if (known.length === 0) return [];
  const classes = Math.sqrt(known[0].confusion.length);
  const counts = known[0].confusion.map(
      (_, i) => known.reduce((sum, run) => sum + (run.confusion[i] || 0), 0));
  const rows = [];
  for (let label = 0; label < classes; label++) {
    const row = counts.slice(label * classes, (label + 1) * classes);
    const total = row.reduce((sum, count) => sum + count, 0) || 1;
    rows.push([
      String(label), ...row.map((count) => {
        const cell = element('span', {class: 'share'}, count.toLocaleString('en-US'));
        cell.style.setProperty('--share', (count / total).toFixed(3));
        return cell;
      })
    ]);
  }
  const head = ['label \\ guess', ...Array.from({length: classes}, (_, i) => String(i))];
  const table = makeTable(
      `Examples by label (row) and guess (column), ${
          known.length === 1 ? '1 seed' : `${known.length} seeds together`}`,
      head, rows);
  table.classList.add('confusion');
  return [element('h3', {}, 'Confusion'), table];
}

function settingsOf(runs) {
  const numbers = [...new Set(runs.map((run) => run.settings))];
  return numbers.flatMap((number) => {
    const settings = report.settings[number];
    const departs =
        (settings.changed ||
         []).map(([path, before, value, origin]) => [path, before || '(unset)', value, origin]);
    const byHand = settings.fields.filter(
        ([, , origin]) => origin && !/^(protocol|preset|attention|block|task) /.test(origin));
    const title =
        `Settings: protocol ${settings.protocol || '–'}, preset ${settings.preset || '–'}`;
    const parts = [element('h3', {}, title)];
    if (departs.length)
      parts.push(makeTable(
          'Where it departs from the protocol', ['field', 'protocol', 'here', 'set by'], departs));
    else if (byHand.length)
      parts.push(makeTable('Set for this run', ['field', 'value', 'set by'], byHand));
    else
      parts.push(element('p', {}, 'Nothing departs from protocol and preset.'));
    parts.push(fold(
        'Every setting', makeTable('Settings', ['field', 'value', 'set by'], settings.fields)));
    const data = settings.data;
    parts.push(element(
        'p', {class: 'quiet'},
        `Data: ${data.origin || 'unknown origin'}, ${
            data.canonical}, version ` +
            `${data.version}, split ${(data.fingerprint || '–').slice(0, 12)}, view ${
                (data.view || '–').slice(0, 12)}`));
    return parts;
  });
}

function scoreOf(run, metric) {
  const results = run.results || [];
  const shown =
      results.find((result) => result.split === report.split && result.checkpoint !== 'last');
  if (run.failure) return `${run.failure.what} at step ${run.failure.step}`;
  return shown && isNumber(shown.value) ?
      `${(metric.scale * shown.value).toFixed(metric.decimals)} ${metric.unit} (${
          shown.evidence})` :
      '–';
}

function runTable(runs, metric) {
  const rows = runs.map((run) => {
    const used = run.efficiency,
          name =
              run.link ? element('a', {href: `${run.link}record.textproto`}, run.name) : run.name;
    const steps = run.steps ?
        `${whole(run.selected_step || 0)} of ${whole(run.steps)}${
            run.stopped_at_step ? `, stopped at ${whole(run.stopped_at_step)}` : ''}` :
                                  '–';
    return [
      String(run.seed), scoreOf(run, metric), steps,
      run.parameters ? run.parameters.toLocaleString('en-US') : '–',
      used.wall_seconds ?
          `${time(used.wall_seconds)} × ${(used.threads || 1) * (used.processes || 1)}` :
          '–',
      peakMemory(used), used.tokens_per_second ? short(used.tokens_per_second) : '–',
      String(run.test_looks || 0), name
    ];
  });
  const table = makeTable(
      'Runs',
      [
        'seed', 'score', 'step scored', 'parameters', 'time × threads', 'peak memory', 'tokens/s',
        'test looks', 'record'
      ],
      rows);
  table.classList.add('runs');
  return table;
}

// On a device its memory counts, not the host's.
function peakMemory(used) {
  const peak = used.peak_device_memory_bytes || used.peak_memory_bytes;
  return peak ? bytes(peak) : '–';
}

function machineLine(m) {
  return [
    m.device, `${m.cpu || 'unknown processor'}, ${m.cores} cores, ${bytes(m.memory_bytes)}`,
    m.system, `kernels ${m.kernels || '–'}`, `lra ${m.lra} (${m.commit || 'no commit'})`,
    `LibTorch ${m.libtorch || '–'}`, m.compiler
  ].filter(Boolean)
      .join('; ');
}

// Who trained a run that went on elsewhere, or with another build.
function stretchLines(run) {
  return (run.stretches || []).map(([afterStep, number]) => {
    const line = machineLine(report.machines[number]);
    return `seed ${run.seed}, from step ${afterStep + 1}: ${line}`;
  });
}

function machineList(runs) {
  const lines = [...new Set(runs.map((run) => run.machine))]
                    .map((number) => machineLine(report.machines[number]))
                    .concat(runs.flatMap(stretchLines));
  return [
    element('h3', {}, 'Machine and build'),
    element('ul', {}, ...lines.map((line) => element('li', {}, line)))
  ];
}

function pictures(runs) {
  const withMaps = runs.filter((run) => run.maps);
  if (withMaps.length === 0) return [];
  const figures = withMaps.flatMap(
      (run) => run.maps.map(
          (map) => element(
              'figure', {}, element('img', {
                src: map.src,
                alt: `Attention map ${map.name} of seed ${run.seed}`,
                loading: 'lazy'
              }),
              element('figcaption', {}, `${map.name}, seed ${run.seed}`))));
  return [element('h3', {}, 'Attention maps'), element('div', {class: 'figures'}, ...figures)];
}

function profiles(runs, metric) {
  return runs.filter((run) => run.profile)
      .flatMap(
          (run) =>
              [element('h3', {}, `Profile of seed ${run.seed}`),
               element(
                   'div', {class: 'figures'},
                   ...run.profile.map(
                       (table) => makeTable(
                           `${table.by}: ${table.definition}`,
                           [table.by, 'examples', metric.axisTitle],
                           table.rows.map((row) => {
                             const shown = (value) =>
                                 (metric.scale * value).toFixed(metric.decimals);
                             const ends = row.interval ?
                                 ` [${shown(row.interval[0])}, ${shown(row.interval[1])}]` :
                                 '';
                             return [
                               row.name, whole(row.examples),
                               isNumber(row.value) ? shown(row.value) + ends : '–'
                             ];
                           })))),
  ]);
}

function remarks(runs) {
  const said = runs.flatMap(
      (run) => [...(run.failure ? [run.failure.cause] : []),
                ...(run.warnings || []),
                ...(run.pretrain ?
                        [`pretrained ${whole(run.pretrain.steps)} steps, loss ${
                            short(run.pretrain.first_loss)} to ${short(run.pretrain.last_loss)}`] :
                        []),
                ...(run.trials ? [`learning rates tried: ${
                                     run.trials
                                         .map(
                                             (trial) => trial.learning_rate +
                                                 (trial.selected ? ' (chosen)' : ''))
                                         .join(', ')}`] :
                                 []),
  ].map((text) => [text, run.seed]));
  const seeds = Map.groupBy(said, ([text]) => text);
  const lines = [...seeds].map(
      ([text, of]) =>
          `seed${of.length > 1 ? 's' : ''} ${of.map(([, seed]) => seed).join(', ')}: ${text}`);
  return lines.length ?
      [
        element('h3', {}, 'Remarks'),
        element('ul', {}, ...lines.map((line) => element('li', {}, line)))
      ] :
      [];
}

// What the page knows of the runs, as a file.
function saveButton(runs) {
  const button = element('button', {type: 'button'}, 'Save as JSON');
  button.addEventListener('click', () => {
    const known = runs.map((run) => ({
                             ...run,
                             settings: report.settings[run.settings],
                             machine: report.machines[run.machine],
                             stretches: (run.stretches || []).map(
                                 ([afterStep, number]) => [afterStep, report.machines[number]])
                           }));
    const link = element('a', {
      download: 'runs.json',
      href: URL.createObjectURL(
          new Blob([JSON.stringify(known, null, 1)], {type: 'application/json'}))
    });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  return button;
}

// Fills the dialog and shows it; closing returns the focus to what opened it.
function openRuns(title, numbers, metric) {
  const dialog = document.getElementById('runs');
  const runs = numbers.map((number) => report.runs[number]);
  const close = element('button', {type: 'button', class: 'close', autofocus: ''}, 'Close');
  close.addEventListener('click', () => dialog.close());
  const described = [...new Set(runs.map((run) => run.description).filter(Boolean))].map(
      (text) => element('p', {}, text));
  dialog.replaceChildren(element(
      'div', {class: 'bar'}, element('h2', {id: 'runs-title'}, title), saveButton(runs), close));
  dialog.showModal();
  dialog.append(
      ...described, runTable(runs, metric), ...remarks(runs),
      ...curveFigures(runs, metric, Math.min(480, dialog.clientWidth - 40)),
      ...learnedFigures(runs, Math.min(480, dialog.clientWidth - 40)), ...confusionTable(runs),
      ...profiles(runs, metric), ...pictures(runs), ...settingsOf(runs), ...machineList(runs));
  dialog.scrollTop = 0;
}

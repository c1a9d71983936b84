// The leaderboard: sorting, filter, choice of tasks, differences to a row, and the runs behind a
// cell.

function numberOf(cell, name) {
  return cell && cell.dataset[name] !== undefined ? Number(cell.dataset[name]) : null;
}

// What a cell is ordered by: where runs failed, the mean of all of them.
function rankOf(cell) {
  const rank = numberOf(cell, 'rank');
  return rank === null ? numberOf(cell, 'value') : rank;
}

class LeaderboardTable {
  constructor(section, number) {
    this.section = section;
    this.table = section.querySelector('table');
    this.heads = [...this.table.tHead.rows[0].cells];
    this.groups = [...this.table.tBodies];
    this.metric = {
      axisTitle: section.dataset.axisTitle,
      unit: section.dataset.unit,
      scale: Number(section.dataset.scale),
      decimals: Number(section.dataset.decimals),
      isHigherBetter: section.dataset.higherIsBetter === '1'
    };
    this.costUnit = section.dataset.costUnit;
    this.comparisons = new Map();
    for (const [task, a, b, difference, low, high, p] of report.comparisons[number] || []) {
      this.comparisons.set(JSON.stringify([task, a, b]), {difference, low, high, p});
      this.comparisons.set(
          JSON.stringify([task, b, a]), {difference: -difference, low: -high, high: -low, p});
    }
    this.tasks = this.heads.map((head) => head.dataset.column)
                     .filter((column) => column.startsWith('task:'));
    this.makeSortable();
    this.makeOpenable();
    this.section.querySelector('.scroll').before(this.makeTools());
    this.makeCostFigure();
  }

  rowsOf(group) { return [...group.rows].filter((row) => !row.classList.contains('group')); }

  allRows() { return this.groups.flatMap((group) => this.rowsOf(group)); }

  labelOf(row) { return row.cells[0].textContent; }

  // --- Sorting: within the groups, which are never mixed ---

  makeSortable() {
    this.heads.forEach((head, column) => {
      const button = element('button', {type: 'button', class: 'sort'}, head.textContent);
      head.replaceChildren(button);
      button.addEventListener('click', () => this.sortBy(column));
    });
  }

  sortBy(column) {
    const head = this.heads[column], kind = head.dataset.column;
    const isRising = kind === 'method' || kind === 'cost' || !this.metric.isHigherBetter;
    const first = isRising ? 'ascending' : 'descending',
          second = isRising ? 'descending' : 'ascending';
    const order = head.getAttribute('aria-sort') === first ? second : first;
    for (const other of this.heads) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    for (const group of this.groups) {
      const rows = this.rowsOf(group);
      rows.sort((a, b) => this.compare(a, b, column, sign));
      group.append(...rows);
    }
    announce(`Sorted by ${head.textContent}, ${order}`);
  }

  // Cells without a number come last in either order.
  compare(a, b, column, sign) {
    if (column === 0) return sign * this.labelOf(a).localeCompare(this.labelOf(b), 'en');
    const x = rankOf(a.cells[column]), y = rankOf(b.cells[column]);
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (x - y);
  }

  // --- Runs behind a cell ---

  makeOpenable() {
    for (const row of this.allRows()) {
      [...row.cells].forEach((cell, column) => {
        if (!cell.dataset.runs) return;
        const value = cell.querySelector('.value');
        const what = `${this.labelOf(row)} on ${this.heads[column].dataset.column.slice(5)}`;
        const button = element(
            'button', {type: 'button', class: 'value', 'aria-haspopup': 'dialog'},
            ...value.childNodes, element('span', {class: 'unseen'}, `: runs of ${what}`));
        value.replaceWith(button);
        button.addEventListener(
            'click', () => openRuns(what, cell.dataset.runs.split(' ').map(Number), this.metric));
      });
    }
  }

  // --- Tools above the table ---

  makeTools() {
    const tools = element('div', {class: 'tools'});
    const filter = element('input', {type: 'search', autocomplete: 'off'});
    filter.addEventListener('input', () => this.filterRows(filter.value));
    tools.append(element('label', {}, 'Methods with ', filter));
    const reference = element('select', {}, element('option', {value: ''}, 'scores'));
    this.allRows().forEach(
        (row, i) =>
            reference.append(element('option', {value: i}, `differences to ${this.labelOf(row)}`)));
    this.rowsInOrder = this.allRows();
    reference.addEventListener(
        'change',
        () => this.showDifferences(
            reference.value === '' ? null : this.rowsInOrder[reference.value]));
    tools.append(element('label', {}, 'Show ', reference));
    if (this.tasks.length > 1) tools.append(this.makeTaskChoice());
    return tools;
  }

  makeTaskChoice() {
    const choice = element('fieldset', {}, element('legend', {}, 'Tasks'));
    for (const task of this.tasks) {
      const box = element('input', {type: 'checkbox'});
      box.checked = true;
      box.addEventListener('change', () => this.showColumn(task, box.checked));
      choice.append(element('label', {}, box, ` ${task.slice(5)}`));
    }
    return choice;
  }

  filterRows(text) {
    const wanted = text.trim().toLowerCase();
    let shown = 0;
    for (const group of this.groups) {
      const rows = this.rowsOf(group);
      for (const row of rows) row.hidden = !this.labelOf(row).toLowerCase().includes(wanted);
      group.hidden = rows.every((row) => row.hidden);
      shown += rows.filter((row) => !row.hidden).length;
    }
    announce(`${shown} rows`);
  }

  showColumn(name, isShown) {
    const column = this.heads.findIndex((head) => head.dataset.column === name);
    this.heads[column].hidden = !isShown;
    for (const row of this.allRows()) row.cells[column].hidden = !isShown;
  }

  // Differences to a row, with their own intervals where the two rows were compared.
  showDifferences(reference) {
    for (const cell of this.table.querySelectorAll('.difference')) cell.remove();
    this.table.classList.toggle('relative', reference !== null);
    if (reference === null) return;
    for (const row of this.allRows()) {
      this.heads.forEach((head, column) => {
        if (!/^(task:|average)/.test(head.dataset.column)) return;
        row.cells[column].append(
            element('span', {class: 'difference'}, this.differenceText(row, reference, column)));
      });
    }
  }

  differenceText(row, reference, column) {
    const value = numberOf(row.cells[column], 'value'),
          base = numberOf(reference.cells[column], 'value');
    if (value === null || base === null) return '–';
    if (row === reference) return 'reference';
    const shown = (amount) => `${
        amount > 0     ? '+' :
            amount < 0 ? '−' :
                         ''}${Math.abs(this.metric.scale * amount).toFixed(this.metric.decimals)}`;
    const task = this.heads[column].dataset.column.slice(5);
    const compared =
        this.comparisons.get(JSON.stringify([task, this.labelOf(row), this.labelOf(reference)]));
    if (!compared) return shown(value - base);
    return `${shown(compared.difference)} [${shown(compared.low)}, ${shown(compared.high)}], p ${
        compared.p < 0.001 ? '< 0.001' : `= ${compared.p.toFixed(3)}`}`;
  }

  // --- Accuracy against cost ---

  makeCostFigure() {
    const columns = this.heads.map((head, column) => [head.dataset.column, column])
                        .filter(([name]) => name.startsWith('task:'));
    const known = columns.filter(([, column]) => this.pricedRows(column).length > 1);
    if (known.length === 0) return;
    const place = element('div', {class: 'cost'});
    const choose = element(
        'select', {},
        ...known.map(([name, column]) => element('option', {value: column}, name.slice(5))));
    const draw = () =>
        place.replaceChildren(this.costFigure(Number(choose.value), this.section.clientWidth));
    choose.addEventListener('change', draw);
    const label = element('label', {}, 'Task ', choose);
    label.hidden = known.length === 1;
    this.section.append(element('h3', {}, 'Score against cost'), label, place);
    whenSeen(place, draw);
  }

  // The rows with both a score and a cost.
  pricedRows(column) {
    return this.allRows().filter(
        (row) => numberOf(row.cells[column], 'cost') > 0 &&
            numberOf(row.cells[column], 'value') !== null);
  }

  costFigure(column, width) {
    const points = this.pricedRows(column).map((row) => {
      // The interval is of the runs that trained.
      const cell = row.cells[column], hasFailures = numberOf(cell, 'rank') !== null,
            scaled = (value) => (value === null ? null : this.metric.scale * value),
            end = (name) => (hasFailures ? null : scaled(numberOf(cell, name)));
      return {
        label: this.labelOf(row) + (hasFailures ? ' (all runs)' : ''),
        x: numberOf(cell, 'cost'),
        y: scaled(rankOf(cell)),
        low: end('low'),
        high: end('high')
      };
    });
    const title = `${this.heads[column].dataset.column.slice(5)}: ${
        this.metric.axisTitle}, with its interval, against ${this.costUnit} of the fastest run`;
    return pointChart(
        {title, xName: `${this.costUnit} of the fastest run`, width, height: 320}, points);
  }
}

// Starts the page.

const report = JSON.parse(document.getElementById('data').textContent);
const live = element('p', {role: 'status', class: 'unseen'});

// Says something to screen readers.
function announce(text) { live.textContent = text; }

// Draws what is far down only when it comes into view.
function whenSeen(place, draw) {
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    draw();
  }, {rootMargin: '200px'}).observe(place);
}

// Follows the system until the button is pressed.
function makeThemeSwitch() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const button = element('button', {type: 'button', id: 'theme'});
  const show = () => {
    button.textContent = isDark() ? 'Light colours' : 'Dark colours';
  };
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    show();
  });
  system.addEventListener('change', show);
  show();
  return button;
}

function drawEfficiency(place, panel) {
  const width = Math.min(520, place.clientWidth);
  const chart = (what, title, unit) => lineChart(
      {title: `${panel.title}: ${title}`, xName: panel.axis, width, logX: true, logY: true},
      panel.series.map((series) => ({
                         label: series.label,
                         points: series[what].map(([at, value]) => [at, value / unit]),
                         hasMarks: true
                       })));
  place.classList.add('figures');
  place.replaceChildren(
      ...[chart('time', 'milliseconds', 1e-3), chart('memory', 'peak MB', 1e6)].filter(Boolean));
}

document.body.append(live);
document.querySelector('header').append(makeThemeSwitch());
document.querySelectorAll('.leaderboard')
    .forEach((section, number) => new LeaderboardTable(section, number));
document.querySelectorAll('#ablations .design').forEach((place, number) => whenSeen(place, () => {
                                                          const chart = effectChart(
                                                              report.ablations[number],
                                                              place.clientWidth);
                                                          if (chart) place.replaceChildren(chart);
                                                        }));
document.querySelectorAll('#efficiency .panel')
    .forEach(
        (place, number) => whenSeen(place, () => drawEfficiency(place, report.efficiency[number])));
document.getElementById('runs').addEventListener('click', (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});

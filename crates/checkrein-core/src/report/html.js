(() => {
  const PAGE = 200;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);
  const body = byId('rows'), more = byId('more'), shown = byId('shown'), form = byId('filter');
  let found = [], drawn = 0;

  const choices = (id, names) => names.forEach((name, index) => {
    const option = document.createElement('option');
    option.value = index;
    option.textContent = name;
    byId(id).append(option);
  });
  choices('category', data.categories);
  choices('phase', data.phases);

  const cell = (row, text, kind) => {
    const td = document.createElement('td');
    td.textContent = text;
    if (kind) td.className = kind;
    row.append(td);
    return td;
  };
  const line = (td, name, text, tag) => {
    if (text === null) return;
    const p = document.createElement('p');
    p.textContent = name;
    const part = document.createElement(tag);
    part.textContent = text;
    p.append(part);
    td.append(p);
  };
  const draw = () => {
    const part = document.createDocumentFragment();
    for (const [kind, severity, category, , step, attempt, text, analysis, fix, command, file] of found.slice(drawn, drawn + PAGE)) {
      const row = document.createElement('tr');
      cell(row, data.kinds[kind], data.kinds[kind]);
      cell(row, data.severities[severity]);
      cell(row, data.categories[category]);
      cell(row, data.steps[step] + (attempt > 1 ? ` (attempt ${attempt})` : ''));
      const td = cell(row, '');
      line(td, '', text, 'span');
      line(td, 'Analysis: ', analysis === null ? null : data.analyses[analysis], 'span');
      line(td, 'Fix: ', fix, 'span');
      line(td, 'Command: ', command, 'code');
      line(td, 'File: ', file, 'code');
      part.append(row);
    }
    drawn = Math.min(drawn + PAGE, found.length);
    body.append(part);
    more.hidden = drawn === found.length;
    shown.textContent = `${drawn} of ${found.length} shown, ${data.rows.length} in all`;
  };
  const filter = () => {
    const wants = ['kind', 'severity', 'category', 'phase'].map((id) => byId(id).value);
    const words = byId('words').value.trim().toLowerCase();
    const says = (text) => text !== null && text.toLowerCase().includes(words);
    found = data.rows.filter((row) => wants.every((want, index) => want === '' || row[index] === Number(want))
      && (words === '' || says(row[6]) || says(row[8]) || says(row[9]) || says(row[10]) || says(data.steps[row[4]])
        || (row[7] !== null && says(data.analyses[row[7]]))));
    drawn = 0;
    body.textContent = '';
    draw();
  };
  let waiting = 0;
  form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  more.addEventListener('click', draw);
  form.hidden = false;
  filter();
})();

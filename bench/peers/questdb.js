// QuestDB: its own columns, its own JSON and CSV; it has no Arrow.
import { readFileSync } from 'node:fs';
import { startQuestdb } from '../../interop/questdb/start-questdb.js';

const COLUMNS = {
  trades: 'id LONG, price DOUBLE, symbol VARCHAR, at TIMESTAMP, flag BOOLEAN, quantity INT',
  doubles: 'id LONG, x0 DOUBLE, x1 DOUBLE, x2 DOUBLE, x3 DOUBLE, x4 DOUBLE',
  texts: 'id LONG, body VARCHAR',
};
const IMPORT_SCHEMA = [{ name: 'at', type: 'TIMESTAMP', pattern: 'yyyy-MM-ddTHH:mm:ss.SSSUUUZ' }];

export const questdb = {
  name: 'QuestDB 9.3.4',
  async start({ name, files }) {
    if (COLUMNS[name] === undefined) throw new Error(`QuestDB has no table for ${name}.`);
    const server = await startQuestdb();
    const ask = async (sql) => {
      const response = await fetch(`${server.url}/exec?query=${encodeURIComponent(sql)}`);
      if (!response.ok) throw new Error(`QuestDB answered ${response.status}: ${await response.text()}`);
      return response.json();
    };
    await ask(`CREATE TABLE ${name} (${COLUMNS[name]})`);
    const form = new FormData();
    if (name === 'trades') form.set('schema', JSON.stringify(IMPORT_SCHEMA));
    form.set('data', new Blob([readFileSync(files.csv)]));
    const response = await fetch(`${server.url}/imp?name=${name}&forceHeader=true`, { method: 'POST', body: form });
    if (!response.ok) throw new Error(`The import answered ${response.status}: ${await response.text()}`);
    await response.text();
    const target = (path, sql) => ({ path: `${path}?query=${encodeURIComponent(sql)}` });
    return {
      ...server,
      window: (offset, rows) => target('/exec', `select * from ${name} limit ${offset}, ${offset + rows}`),
      all: (format) => (format === 'arrow' ? undefined : target(format === 'csv' ? '/exp' : '/exec', name)),
      sql: (sql) => target('/exec', sql),
      rowsOf: (bytes) => JSON.parse(bytes).dataset,
    };
  },
};

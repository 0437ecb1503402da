// The usual way, in a separate process: row arrays out of the Arrow batches, then JSON.stringify. LONG as Number;
// timestamps stay the numbers apache-arrow gives (formatting them as text would only cost it more). One run for each
// message.
import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';

const table = tableFromIPC(readFileSync(process.argv[2]));

function run() {
  const before = process.cpuUsage();
  const dataset = [];
  for (const batch of table.batches) {
    const columns = batch.schema.fields.map((_, i) => batch.getChildAt(i));
    for (let row = 0; row < batch.numRows; row++) {
      dataset.push(
        columns.map((column) => {
          const value = column.get(row);
          return typeof value === 'bigint' ? Number(value) : value;
        }),
      );
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify({ dataset, count: dataset.length }));
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000, bytes };
}

process.on('message', () => process.send(run()));
process.send('ready');

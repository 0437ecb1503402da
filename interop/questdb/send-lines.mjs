// Sends rows with QuestDB's client for Node. The arguments are the folder of the client, its configuration and the table.
import { createRequire } from 'node:module';

const [folder, conf, table] = process.argv.slice(2);
const { Sender } = createRequire(`${folder}/package.json`)('@questdb/nodejs-client');
const sender = await Sender.fromConfig(conf);
await sender
  .table(table)
  .symbol('symbol', 'BTC-USD')
  .symbol('side', 'sell, = é')
  .floatColumn('price', 39269.98)
  .intColumn('amount', -3)
  .booleanColumn('is_last', true)
  .stringColumn('note', 'a "b" \\ c\nd')
  .timestampColumn('seen', 1_700_000_000_000_001n)
  .at(1_700_000_000_000_007n);
await sender.table(table).symbol('symbol', 'ETH-USD').floatColumn('price', 1e-300).at(1_700_000_000_000_008n);
await sender.flush();
try {
  await sender.table(table).stringColumn('is_last', 'text').at(1_700_000_000_000_009n);
  await sender.flush();
} catch (error) {
  console.log(error.message);
}
await sender.close();

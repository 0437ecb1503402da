/**
 * Arrow IPC: schemas, messages, streams and files.
 *
 * ```ts
 * import { encapsulate, encodeArrowSchema, schemaFromUpload } from '@svc/frames/ipc';
 * import { Field, Int64, Schema } from 'apache-arrow';
 *
 * const { header } = encodeArrowSchema(new Schema([new Field('id', new Int64())]));
 * schemaFromUpload(encapsulate(header)); // the same schema, checked
 * ```
 */
export { type ArrowHeader, readArrowHeader } from '../decode/arrow/flatbuffer.ts';
export { schemaFromResult, schemaFromUpload, uncheckedSchemaFromUpload } from '../decode/arrow/read-schema.ts';
export {
  createResultDecoder,
  decodeArrowHere,
  type DecodeHereOptions,
  decodeRowHere,
  type ResultDecoder,
} from '../decode/decode-here.ts';
export { type ArrowMessage, encodeArrowMessages, encodeArrowSchema } from '../encode/arrow-messages.ts';
export {
  encapsulate,
  encodeArrowFile,
  END_OF_STREAM,
  joinArrowMessages,
  type SplitMessage,
} from '../encode/arrow-stream.ts';

import type { ArrowField, ArrowType } from './ipc-schema.ts';
import type { ColumnInfo } from './types.ts';

/** Returns the columns of an Arrow schema, with the type names of the server. */
export function columnsOf(fields: readonly ArrowField[]): readonly ColumnInfo[] {
  return fields.map(({ name, type, metadata }) => ({ name, type: typeName(type, metadata) }));
}

const NANOSECOND = 3;

function typeName(type: ArrowType, metadata: ReadonlyMap<string, string>): string {
  const own = metadata.get('svc:type');
  switch (type.kind) {
    case 'dictionary':
      return symbolOf(typeName(type.values, metadata), true);
    case 'utf8':
      return symbolOf('STRING', own === 'SYMBOL');
    case 'int':
      return INTEGER_NAMES[`${type.isSigned ? 'int' : 'uint'}${type.bits}`] ?? 'LONG';
    case 'float':
      return type.bits === 64 ? 'DOUBLE' : 'FLOAT';
    case 'timestamp':
      return type.unit === NANOSECOND ? 'TIMESTAMP_NS' : 'TIMESTAMP';
    case 'decimal':
      return type.scale === 0 && own === 'LONG128' ? 'LONG128' : `DECIMAL(${type.precision},${type.scale})`;
    case 'fixedSizeBinary':
      return type.stride === 16 && metadata.get('ARROW:extension:name') === 'arrow.uuid' ? 'UUID' : 'BINARY';
    case 'bool':
      return 'BOOLEAN';
    case 'date':
    case 'time':
    case 'duration':
    case 'interval':
    case 'binary':
    case 'struct':
    case 'map':
      return type.kind.toUpperCase();
    case 'list':
    case 'fixedSizeList':
      return 'ARRAY';
    case 'null':
      break;
  }
  return 'STRING';
}

/** Strings with a dictionary, or marked as such, are symbols. */
function symbolOf(name: string, isSymbol: boolean): string {
  return isSymbol && name === 'STRING' ? 'SYMBOL' : name;
}

const INTEGER_NAMES: Readonly<Record<string, string>> = {
  int8: 'BYTE',
  int16: 'SHORT',
  int32: 'INT',
  int64: 'LONG',
  uint8: 'SHORT',
  uint16: 'INT',
  uint32: 'LONG',
  uint64: 'ULONG',
};

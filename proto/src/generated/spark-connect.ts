// Written by the script "generate" from spark/connect/base.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { bigintFromLong, longFromBigint, type Partially } from '../codec.ts';

/** The owner of a session. */
export interface UserContext {
  readonly userId: string;
  readonly userName: string;
}

/** Writes and reads `UserContext`. */
export const UserContext = {
  encode(message: UserContext, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.userId !== '') writer.uint32(10).string(message.userId);
    if (message.userName !== '') writer.uint32(18).string(message.userName);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): UserContext {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let userId = '';
    let userName = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          userId = reader.string();
          break;
        case 18:
          userName = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('UserContext ends inside a field.');
    return { userId, userName };
  },

  fromPartial(partial: Partially<UserContext>): UserContext {
    return {
      userId: partial.userId ?? '',
      userName: partial.userName ?? '',
    };
  },
};

/** What to run. */
export interface Plan {
  readonly root: Relation | undefined;
}

/** Writes and reads `Plan`. */
export const Plan = {
  encode(message: Plan, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.root !== undefined) Relation.encode(message.root, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Plan {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let root: Relation | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          root = Relation.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Plan ends inside a field.');
    return { root };
  },

  fromPartial(partial: Partially<Plan>): Plan {
    return {
      root: partial.root === undefined ? undefined : Relation.fromPartial(partial.root),
    };
  },
};

/** A table, or what computes one. */
export interface Relation {
  readonly common: RelationCommon | undefined;
  readonly read: Read | undefined;
  readonly limit: Limit | undefined;
  readonly sql: SQL | undefined;
  readonly subqueryAlias: SubqueryAlias | undefined;
  readonly withRelations: WithRelations | undefined;
}

/** Writes and reads `Relation`. */
export const Relation = {
  encode(message: Relation, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.common !== undefined) RelationCommon.encode(message.common, writer.uint32(10).fork()).ldelim();
    if (message.read !== undefined) Read.encode(message.read, writer.uint32(18).fork()).ldelim();
    if (message.limit !== undefined) Limit.encode(message.limit, writer.uint32(66).fork()).ldelim();
    if (message.sql !== undefined) SQL.encode(message.sql, writer.uint32(82).fork()).ldelim();
    if (message.subqueryAlias !== undefined) SubqueryAlias.encode(message.subqueryAlias, writer.uint32(130).fork()).ldelim();
    if (message.withRelations !== undefined) WithRelations.encode(message.withRelations, writer.uint32(330).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Relation {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let common: RelationCommon | undefined;
    let read: Read | undefined;
    let limit: Limit | undefined;
    let sql: SQL | undefined;
    let subqueryAlias: SubqueryAlias | undefined;
    let withRelations: WithRelations | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          common = RelationCommon.decode(reader, reader.uint32());
          break;
        case 18:
          read = Read.decode(reader, reader.uint32());
          limit = undefined;
          sql = undefined;
          subqueryAlias = undefined;
          withRelations = undefined;
          break;
        case 66:
          limit = Limit.decode(reader, reader.uint32());
          read = undefined;
          sql = undefined;
          subqueryAlias = undefined;
          withRelations = undefined;
          break;
        case 82:
          sql = SQL.decode(reader, reader.uint32());
          read = undefined;
          limit = undefined;
          subqueryAlias = undefined;
          withRelations = undefined;
          break;
        case 130:
          subqueryAlias = SubqueryAlias.decode(reader, reader.uint32());
          read = undefined;
          limit = undefined;
          sql = undefined;
          withRelations = undefined;
          break;
        case 330:
          withRelations = WithRelations.decode(reader, reader.uint32());
          read = undefined;
          limit = undefined;
          sql = undefined;
          subqueryAlias = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Relation ends inside a field.');
    return { common, read, limit, sql, subqueryAlias, withRelations };
  },

  fromPartial(partial: Partially<Relation>): Relation {
    return {
      common: partial.common === undefined ? undefined : RelationCommon.fromPartial(partial.common),
      read: partial.read === undefined ? undefined : Read.fromPartial(partial.read),
      limit: partial.limit === undefined ? undefined : Limit.fromPartial(partial.limit),
      sql: partial.sql === undefined ? undefined : SQL.fromPartial(partial.sql),
      subqueryAlias: partial.subqueryAlias === undefined ? undefined : SubqueryAlias.fromPartial(partial.subqueryAlias),
      withRelations: partial.withRelations === undefined ? undefined : WithRelations.fromPartial(partial.withRelations),
    };
  },
};

/** What every relation has. */
export interface RelationCommon {
  /** Unique within the plan. */
  readonly planId: bigint | undefined;
}

/** Writes and reads `RelationCommon`. */
export const RelationCommon = {
  encode(message: RelationCommon, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.planId !== undefined) writer.uint32(16).int64(longFromBigint(message.planId));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): RelationCommon {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let planId: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 16:
          planId = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('RelationCommon ends inside a field.');
    return { planId };
  },

  fromPartial(partial: Partially<RelationCommon>): RelationCommon {
    return {
      planId: partial.planId,
    };
  },
};

/** The first rows of a relation. */
export interface Limit {
  readonly input: Relation | undefined;
  readonly limit: number;
}

/** Writes and reads `Limit`. */
export const Limit = {
  encode(message: Limit, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.input !== undefined) Relation.encode(message.input, writer.uint32(10).fork()).ldelim();
    if (message.limit !== 0) writer.uint32(16).int32(message.limit);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Limit {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let inputField: Relation | undefined;
    let limit = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          inputField = Relation.decode(reader, reader.uint32());
          break;
        case 16:
          limit = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Limit ends inside a field.');
    return { input: inputField, limit };
  },

  fromPartial(partial: Partially<Limit>): Limit {
    return {
      input: partial.input === undefined ? undefined : Relation.fromPartial(partial.input),
      limit: partial.limit ?? 0,
    };
  },
};

/** A query. */
export interface SQL {
  readonly query: string;
  /** The values of `?`, in order. */
  readonly posArguments: readonly Expression[];
}

/** Writes and reads `SQL`. */
export const SQL = {
  encode(message: SQL, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.query !== '') writer.uint32(10).string(message.query);
    for (const item of message.posArguments) Expression.encode(item, writer.uint32(42).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SQL {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let query = '';
    const posArguments: Expression[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          query = reader.string();
          break;
        case 42:
          posArguments.push(Expression.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SQL ends inside a field.');
    return { query, posArguments };
  },

  fromPartial(partial: Partially<SQL>): SQL {
    return {
      query: partial.query ?? '',
      posArguments: partial.posArguments?.map((item) => Expression.fromPartial(item)) ?? [],
    };
  },
};

/** A relation under a name. */
export interface SubqueryAlias {
  readonly input: Relation | undefined;
  readonly alias: string;
}

/** Writes and reads `SubqueryAlias`. */
export const SubqueryAlias = {
  encode(message: SubqueryAlias, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.input !== undefined) Relation.encode(message.input, writer.uint32(10).fork()).ldelim();
    if (message.alias !== '') writer.uint32(18).string(message.alias);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SubqueryAlias {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let inputField: Relation | undefined;
    let alias = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          inputField = Relation.decode(reader, reader.uint32());
          break;
        case 18:
          alias = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SubqueryAlias ends inside a field.');
    return { input: inputField, alias };
  },

  fromPartial(partial: Partially<SubqueryAlias>): SubqueryAlias {
    return {
      input: partial.input === undefined ? undefined : Relation.fromPartial(partial.input),
      alias: partial.alias ?? '',
    };
  },
};

/** A query, and the named relations that it can refer to. */
export interface WithRelations {
  readonly root: Relation | undefined;
  readonly references: readonly Relation[];
}

/** Writes and reads `WithRelations`. */
export const WithRelations = {
  encode(message: WithRelations, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.root !== undefined) Relation.encode(message.root, writer.uint32(10).fork()).ldelim();
    for (const item of message.references) Relation.encode(item, writer.uint32(18).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): WithRelations {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let root: Relation | undefined;
    const references: Relation[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          root = Relation.decode(reader, reader.uint32());
          break;
        case 18:
          references.push(Relation.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('WithRelations ends inside a field.');
    return { root, references };
  },

  fromPartial(partial: Partially<WithRelations>): WithRelations {
    return {
      root: partial.root === undefined ? undefined : Relation.fromPartial(partial.root),
      references: partial.references?.map((item) => Relation.fromPartial(item)) ?? [],
    };
  },
};

/** Files of one format. */
export interface ReadDataSource {
  readonly format: string | undefined;
  /** The columns, as DDL. Default: those that the files declare. */
  readonly schema: string | undefined;
  readonly options: ReadonlyMap<string, string>;
  readonly paths: readonly string[];
}

/** Writes and reads `ReadDataSource`. */
export const ReadDataSource = {
  encode(message: ReadDataSource, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.format !== undefined) writer.uint32(10).string(message.format);
    if (message.schema !== undefined) writer.uint32(18).string(message.schema);
    for (const [key, value] of message.options) {
      writer.uint32(26).fork().uint32(10).string(key);
      writer.uint32(18).string(value);
      writer.ldelim();
    }
    for (const item of message.paths) writer.uint32(34).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReadDataSource {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let format: string | undefined;
    let schema: string | undefined;
    const options = new Map<string, string>();
    const paths: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          format = reader.string();
          break;
        case 18:
          schema = reader.string();
          break;
        case 26: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: string = '';
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = reader.string();
            else reader.skipType(part & 7);
          }
          options.set(key, value);
          break;
        }
        case 34:
          paths.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReadDataSource ends inside a field.');
    return { format, schema, options, paths };
  },

  fromPartial(partial: Partially<ReadDataSource>): ReadDataSource {
    return {
      format: partial.format,
      schema: partial.schema,
      options: partial.options ?? new Map(),
      paths: partial.paths ?? [],
    };
  },
};

/** A table that is read. */
export interface Read {
  readonly dataSource: ReadDataSource | undefined;
}

/** Writes and reads `Read`. */
export const Read = {
  encode(message: Read, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.dataSource !== undefined) ReadDataSource.encode(message.dataSource, writer.uint32(18).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Read {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let dataSource: ReadDataSource | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 18:
          dataSource = ReadDataSource.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Read ends inside a field.');
    return { dataSource };
  },

  fromPartial(partial: Partially<Read>): Read {
    return {
      dataSource: partial.dataSource === undefined ? undefined : ReadDataSource.fromPartial(partial.dataSource),
    };
  },
};

/** A decimal number. */
export interface ExpressionLiteralDecimal {
  /** The digits, as text. */
  readonly value: string;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
}

/** Writes and reads `ExpressionLiteralDecimal`. */
export const ExpressionLiteralDecimal = {
  encode(message: ExpressionLiteralDecimal, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.value !== '') writer.uint32(10).string(message.value);
    if (message.precision !== undefined) writer.uint32(16).int32(message.precision);
    if (message.scale !== undefined) writer.uint32(24).int32(message.scale);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExpressionLiteralDecimal {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let value = '';
    let precision: number | undefined;
    let scale: number | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          value = reader.string();
          break;
        case 16:
          precision = reader.int32();
          break;
        case 24:
          scale = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExpressionLiteralDecimal ends inside a field.');
    return { value, precision, scale };
  },

  fromPartial(partial: Partially<ExpressionLiteralDecimal>): ExpressionLiteralDecimal {
    return {
      value: partial.value ?? '',
      precision: partial.precision,
      scale: partial.scale,
    };
  },
};

/** A constant. */
export interface ExpressionLiteral {
  readonly null: DataType | undefined;
  readonly binary: Uint8Array | undefined;
  readonly boolean: boolean | undefined;
  readonly byte: number | undefined;
  readonly short: number | undefined;
  readonly integer: number | undefined;
  readonly long: bigint | undefined;
  readonly float: number | undefined;
  readonly double: number | undefined;
  readonly decimal: ExpressionLiteralDecimal | undefined;
  readonly string: string | undefined;
  /** Days since 1970. */
  readonly date: number | undefined;
  /** Microseconds since 1970, an instant. */
  readonly timestamp: bigint | undefined;
  /** Microseconds since 1970, without a zone. */
  readonly timestampNtz: bigint | undefined;
}

/** Writes and reads `ExpressionLiteral`. */
export const ExpressionLiteral = {
  encode(message: ExpressionLiteral, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.null !== undefined) DataType.encode(message.null, writer.uint32(10).fork()).ldelim();
    if (message.binary !== undefined) writer.uint32(18).bytes(message.binary);
    if (message.boolean !== undefined) writer.uint32(24).bool(message.boolean);
    if (message.byte !== undefined) writer.uint32(32).int32(message.byte);
    if (message.short !== undefined) writer.uint32(40).int32(message.short);
    if (message.integer !== undefined) writer.uint32(48).int32(message.integer);
    if (message.long !== undefined) writer.uint32(56).int64(longFromBigint(message.long));
    if (message.float !== undefined) writer.uint32(85).float(message.float);
    if (message.double !== undefined) writer.uint32(89).double(message.double);
    if (message.decimal !== undefined) ExpressionLiteralDecimal.encode(message.decimal, writer.uint32(98).fork()).ldelim();
    if (message.string !== undefined) writer.uint32(106).string(message.string);
    if (message.date !== undefined) writer.uint32(128).int32(message.date);
    if (message.timestamp !== undefined) writer.uint32(136).int64(longFromBigint(message.timestamp));
    if (message.timestampNtz !== undefined) writer.uint32(144).int64(longFromBigint(message.timestampNtz));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExpressionLiteral {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let nullField: DataType | undefined;
    let binary: Uint8Array | undefined;
    let boolean: boolean | undefined;
    let byte: number | undefined;
    let short: number | undefined;
    let integer: number | undefined;
    let long: bigint | undefined;
    let float: number | undefined;
    let double: number | undefined;
    let decimal: ExpressionLiteralDecimal | undefined;
    let string: string | undefined;
    let date: number | undefined;
    let timestamp: bigint | undefined;
    let timestampNtz: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          nullField = DataType.decode(reader, reader.uint32());
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 18:
          binary = reader.bytes();
          nullField = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 24:
          boolean = reader.bool();
          nullField = undefined;
          binary = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 32:
          byte = reader.int32();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 40:
          short = reader.int32();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 48:
          integer = reader.int32();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 56:
          long = bigintFromLong(reader.int64());
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 85:
          float = reader.float();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 89:
          double = reader.double();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 98:
          decimal = ExpressionLiteralDecimal.decode(reader, reader.uint32());
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 106:
          string = reader.string();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          date = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 128:
          date = reader.int32();
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          timestamp = undefined;
          timestampNtz = undefined;
          break;
        case 136:
          timestamp = bigintFromLong(reader.int64());
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestampNtz = undefined;
          break;
        case 144:
          timestampNtz = bigintFromLong(reader.int64());
          nullField = undefined;
          binary = undefined;
          boolean = undefined;
          byte = undefined;
          short = undefined;
          integer = undefined;
          long = undefined;
          float = undefined;
          double = undefined;
          decimal = undefined;
          string = undefined;
          date = undefined;
          timestamp = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExpressionLiteral ends inside a field.');
    return { null: nullField, binary, boolean, byte, short, integer, long, float, double, decimal, string, date, timestamp, timestampNtz };
  },

  fromPartial(partial: Partially<ExpressionLiteral>): ExpressionLiteral {
    return {
      null: partial.null === undefined ? undefined : DataType.fromPartial(partial.null),
      binary: partial.binary,
      boolean: partial.boolean,
      byte: partial.byte,
      short: partial.short,
      integer: partial.integer,
      long: partial.long,
      float: partial.float,
      double: partial.double,
      decimal: partial.decimal === undefined ? undefined : ExpressionLiteralDecimal.fromPartial(partial.decimal),
      string: partial.string,
      date: partial.date,
      timestamp: partial.timestamp,
      timestampNtz: partial.timestampNtz,
    };
  },
};

/** A value of a parameter. */
export interface Expression {
  readonly literal: ExpressionLiteral | undefined;
}

/** Writes and reads `Expression`. */
export const Expression = {
  encode(message: Expression, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.literal !== undefined) ExpressionLiteral.encode(message.literal, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Expression {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let literal: ExpressionLiteral | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          literal = ExpressionLiteral.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Expression ends inside a field.');
    return { literal };
  },

  fromPartial(partial: Partially<Expression>): Expression {
    return {
      literal: partial.literal === undefined ? undefined : ExpressionLiteral.fromPartial(partial.literal),
    };
  },
};

/** The type of null alone. */
export interface DataTypeNULL {
}

/** Writes and reads `DataTypeNULL`. */
export const DataTypeNULL = {
  encode(_message: DataTypeNULL, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DataTypeNULL {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('DataTypeNULL ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<DataTypeNULL>): DataTypeNULL {
    return {
    };
  },
};

/** The type of a null. */
export interface DataType {
  readonly null: DataTypeNULL | undefined;
}

/** Writes and reads `DataType`. */
export const DataType = {
  encode(message: DataType, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.null !== undefined) DataTypeNULL.encode(message.null, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DataType {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let nullField: DataTypeNULL | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          nullField = DataTypeNULL.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DataType ends inside a field.');
    return { null: nullField };
  },

  fromPartial(partial: Partially<DataType>): DataType {
    return {
      null: partial.null === undefined ? undefined : DataTypeNULL.fromPartial(partial.null),
    };
  },
};

/** One option. */
export interface ExecutePlanRequestRequestOption {
  readonly reattachOptions: ReattachOptions | undefined;
  readonly resultChunkingOptions: ResultChunkingOptions | undefined;
}

/** Writes and reads `ExecutePlanRequestRequestOption`. */
export const ExecutePlanRequestRequestOption = {
  encode(message: ExecutePlanRequestRequestOption, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.reattachOptions !== undefined) ReattachOptions.encode(message.reattachOptions, writer.uint32(10).fork()).ldelim();
    if (message.resultChunkingOptions !== undefined) ResultChunkingOptions.encode(message.resultChunkingOptions, writer.uint32(18).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExecutePlanRequestRequestOption {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let reattachOptions: ReattachOptions | undefined;
    let resultChunkingOptions: ResultChunkingOptions | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          reattachOptions = ReattachOptions.decode(reader, reader.uint32());
          resultChunkingOptions = undefined;
          break;
        case 18:
          resultChunkingOptions = ResultChunkingOptions.decode(reader, reader.uint32());
          reattachOptions = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExecutePlanRequestRequestOption ends inside a field.');
    return { reattachOptions, resultChunkingOptions };
  },

  fromPartial(partial: Partially<ExecutePlanRequestRequestOption>): ExecutePlanRequestRequestOption {
    return {
      reattachOptions: partial.reattachOptions === undefined ? undefined : ReattachOptions.fromPartial(partial.reattachOptions),
      resultChunkingOptions: partial.resultChunkingOptions === undefined ? undefined : ResultChunkingOptions.fromPartial(partial.resultChunkingOptions),
    };
  },
};

/** Asks to run a plan. */
export interface ExecutePlanRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly plan: Plan | undefined;
  readonly clientType: string | undefined;
  readonly requestOptions: readonly ExecutePlanRequestRequestOption[];
  /** A UUID, to reattach to the operation and to interrupt it. */
  readonly operationId: string | undefined;
  readonly tags: readonly string[];
  /** The session of the server as it was seen before: the request fails if the server was restarted since. */
  readonly clientObservedServerSideSessionId: string | undefined;
}

/** Writes and reads `ExecutePlanRequest`. */
export const ExecutePlanRequest = {
  encode(message: ExecutePlanRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.plan !== undefined) Plan.encode(message.plan, writer.uint32(26).fork()).ldelim();
    if (message.clientType !== undefined) writer.uint32(34).string(message.clientType);
    for (const item of message.requestOptions) ExecutePlanRequestRequestOption.encode(item, writer.uint32(42).fork()).ldelim();
    if (message.operationId !== undefined) writer.uint32(50).string(message.operationId);
    for (const item of message.tags) writer.uint32(58).string(item);
    if (message.clientObservedServerSideSessionId !== undefined) writer.uint32(66).string(message.clientObservedServerSideSessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExecutePlanRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let plan: Plan | undefined;
    let clientType: string | undefined;
    const requestOptions: ExecutePlanRequestRequestOption[] = [];
    let operationId: string | undefined;
    const tags: string[] = [];
    let clientObservedServerSideSessionId: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          plan = Plan.decode(reader, reader.uint32());
          break;
        case 34:
          clientType = reader.string();
          break;
        case 42:
          requestOptions.push(ExecutePlanRequestRequestOption.decode(reader, reader.uint32()));
          break;
        case 50:
          operationId = reader.string();
          break;
        case 58:
          tags.push(reader.string());
          break;
        case 66:
          clientObservedServerSideSessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExecutePlanRequest ends inside a field.');
    return { sessionId, userContext, plan, clientType, requestOptions, operationId, tags, clientObservedServerSideSessionId };
  },

  fromPartial(partial: Partially<ExecutePlanRequest>): ExecutePlanRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      plan: partial.plan === undefined ? undefined : Plan.fromPartial(partial.plan),
      clientType: partial.clientType,
      requestOptions: partial.requestOptions?.map((item) => ExecutePlanRequestRequestOption.fromPartial(item)) ?? [],
      operationId: partial.operationId,
      tags: partial.tags ?? [],
      clientObservedServerSideSessionId: partial.clientObservedServerSideSessionId,
    };
  },
};

/** Whether the server keeps responses until they are released. */
export interface ReattachOptions {
  readonly reattachable: boolean;
}

/** Writes and reads `ReattachOptions`. */
export const ReattachOptions = {
  encode(message: ReattachOptions, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.reattachable) writer.uint32(8).bool(message.reattachable);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReattachOptions {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let reattachable = false;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          reattachable = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReattachOptions ends inside a field.');
    return { reattachable };
  },

  fromPartial(partial: Partially<ReattachOptions>): ReattachOptions {
    return {
      reattachable: partial.reattachable ?? false,
    };
  },
};

/** Whether the server may send a batch in several responses. */
export interface ResultChunkingOptions {
  readonly allowArrowBatchChunking: boolean;
  readonly preferredArrowChunkSize: bigint | undefined;
}

/** Writes and reads `ResultChunkingOptions`. */
export const ResultChunkingOptions = {
  encode(message: ResultChunkingOptions, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.allowArrowBatchChunking) writer.uint32(8).bool(message.allowArrowBatchChunking);
    if (message.preferredArrowChunkSize !== undefined) writer.uint32(16).int64(longFromBigint(message.preferredArrowChunkSize));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ResultChunkingOptions {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let allowArrowBatchChunking = false;
    let preferredArrowChunkSize: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          allowArrowBatchChunking = reader.bool();
          break;
        case 16:
          preferredArrowChunkSize = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ResultChunkingOptions ends inside a field.');
    return { allowArrowBatchChunking, preferredArrowChunkSize };
  },

  fromPartial(partial: Partially<ResultChunkingOptions>): ResultChunkingOptions {
    return {
      allowArrowBatchChunking: partial.allowArrowBatchChunking ?? false,
      preferredArrowChunkSize: partial.preferredArrowChunkSize,
    };
  },
};

/** A batch of rows as an Arrow IPC stream, or a part of one. */
export interface ExecutePlanResponseArrowBatch {
  readonly rowCount: bigint;
  readonly data: Uint8Array;
  readonly startOffset: bigint | undefined;
  readonly chunkIndex: bigint | undefined;
  readonly numChunksInBatch: bigint | undefined;
}

/** Writes and reads `ExecutePlanResponseArrowBatch`. */
export const ExecutePlanResponseArrowBatch = {
  encode(message: ExecutePlanResponseArrowBatch, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.rowCount !== 0n) writer.uint32(8).int64(longFromBigint(message.rowCount));
    if (message.data.length > 0) writer.uint32(18).bytes(message.data);
    if (message.startOffset !== undefined) writer.uint32(24).int64(longFromBigint(message.startOffset));
    if (message.chunkIndex !== undefined) writer.uint32(32).int64(longFromBigint(message.chunkIndex));
    if (message.numChunksInBatch !== undefined) writer.uint32(40).int64(longFromBigint(message.numChunksInBatch));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExecutePlanResponseArrowBatch {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let rowCount = 0n;
    let data: Uint8Array = new Uint8Array(0);
    let startOffset: bigint | undefined;
    let chunkIndex: bigint | undefined;
    let numChunksInBatch: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          rowCount = bigintFromLong(reader.int64());
          break;
        case 18:
          data = reader.bytes();
          break;
        case 24:
          startOffset = bigintFromLong(reader.int64());
          break;
        case 32:
          chunkIndex = bigintFromLong(reader.int64());
          break;
        case 40:
          numChunksInBatch = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExecutePlanResponseArrowBatch ends inside a field.');
    return { rowCount, data, startOffset, chunkIndex, numChunksInBatch };
  },

  fromPartial(partial: Partially<ExecutePlanResponseArrowBatch>): ExecutePlanResponseArrowBatch {
    return {
      rowCount: partial.rowCount ?? 0n,
      data: partial.data ?? new Uint8Array(0),
      startOffset: partial.startOffset,
      chunkIndex: partial.chunkIndex,
      numChunksInBatch: partial.numChunksInBatch,
    };
  },
};

/** The last response: nothing is missing. */
export interface ExecutePlanResponseResultComplete {
}

/** Writes and reads `ExecutePlanResponseResultComplete`. */
export const ExecutePlanResponseResultComplete = {
  encode(_message: ExecutePlanResponseResultComplete, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExecutePlanResponseResultComplete {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('ExecutePlanResponseResultComplete ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<ExecutePlanResponseResultComplete>): ExecutePlanResponseResultComplete {
    return {
    };
  },
};

/** A part of the result of a plan. */
export interface ExecutePlanResponse {
  readonly sessionId: string;
  readonly serverSideSessionId: string;
  readonly operationId: string;
  /** Identifies the response, to reattach after it. */
  readonly responseId: string;
  readonly arrowBatch: ExecutePlanResponseArrowBatch | undefined;
  readonly resultComplete: ExecutePlanResponseResultComplete | undefined;
}

/** Writes and reads `ExecutePlanResponse`. */
export const ExecutePlanResponse = {
  encode(message: ExecutePlanResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.serverSideSessionId !== '') writer.uint32(122).string(message.serverSideSessionId);
    if (message.operationId !== '') writer.uint32(98).string(message.operationId);
    if (message.responseId !== '') writer.uint32(106).string(message.responseId);
    if (message.arrowBatch !== undefined) ExecutePlanResponseArrowBatch.encode(message.arrowBatch, writer.uint32(18).fork()).ldelim();
    if (message.resultComplete !== undefined) ExecutePlanResponseResultComplete.encode(message.resultComplete, writer.uint32(114).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExecutePlanResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let serverSideSessionId = '';
    let operationId = '';
    let responseId = '';
    let arrowBatch: ExecutePlanResponseArrowBatch | undefined;
    let resultComplete: ExecutePlanResponseResultComplete | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 122:
          serverSideSessionId = reader.string();
          break;
        case 98:
          operationId = reader.string();
          break;
        case 106:
          responseId = reader.string();
          break;
        case 18:
          arrowBatch = ExecutePlanResponseArrowBatch.decode(reader, reader.uint32());
          resultComplete = undefined;
          break;
        case 114:
          resultComplete = ExecutePlanResponseResultComplete.decode(reader, reader.uint32());
          arrowBatch = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExecutePlanResponse ends inside a field.');
    return { sessionId, serverSideSessionId, operationId, responseId, arrowBatch, resultComplete };
  },

  fromPartial(partial: Partially<ExecutePlanResponse>): ExecutePlanResponse {
    return {
      sessionId: partial.sessionId ?? '',
      serverSideSessionId: partial.serverSideSessionId ?? '',
      operationId: partial.operationId ?? '',
      responseId: partial.responseId ?? '',
      arrowBatch: partial.arrowBatch === undefined ? undefined : ExecutePlanResponseArrowBatch.fromPartial(partial.arrowBatch),
      resultComplete: partial.resultComplete === undefined ? undefined : ExecutePlanResponseResultComplete.fromPartial(partial.resultComplete),
    };
  },
};

/** What to do. */
export interface ConfigRequestOperation {
  readonly set: ConfigRequestSet | undefined;
}

/** Writes and reads `ConfigRequestOperation`. */
export const ConfigRequestOperation = {
  encode(message: ConfigRequestOperation, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.set !== undefined) ConfigRequestSet.encode(message.set, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ConfigRequestOperation {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let set: ConfigRequestSet | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          set = ConfigRequestSet.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ConfigRequestOperation ends inside a field.');
    return { set };
  },

  fromPartial(partial: Partially<ConfigRequestOperation>): ConfigRequestOperation {
    return {
      set: partial.set === undefined ? undefined : ConfigRequestSet.fromPartial(partial.set),
    };
  },
};

/** The settings and their values. */
export interface ConfigRequestSet {
  readonly pairs: readonly KeyValue[];
}

/** Writes and reads `ConfigRequestSet`. */
export const ConfigRequestSet = {
  encode(message: ConfigRequestSet, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.pairs) KeyValue.encode(item, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ConfigRequestSet {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const pairs: KeyValue[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          pairs.push(KeyValue.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ConfigRequestSet ends inside a field.');
    return { pairs };
  },

  fromPartial(partial: Partially<ConfigRequestSet>): ConfigRequestSet {
    return {
      pairs: partial.pairs?.map((item) => KeyValue.fromPartial(item)) ?? [],
    };
  },
};

/** Asks to change settings. */
export interface ConfigRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly operation: ConfigRequestOperation | undefined;
  readonly clientType: string | undefined;
}

/** Writes and reads `ConfigRequest`. */
export const ConfigRequest = {
  encode(message: ConfigRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.operation !== undefined) ConfigRequestOperation.encode(message.operation, writer.uint32(26).fork()).ldelim();
    if (message.clientType !== undefined) writer.uint32(34).string(message.clientType);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ConfigRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let operation: ConfigRequestOperation | undefined;
    let clientType: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          operation = ConfigRequestOperation.decode(reader, reader.uint32());
          break;
        case 34:
          clientType = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ConfigRequest ends inside a field.');
    return { sessionId, userContext, operation, clientType };
  },

  fromPartial(partial: Partially<ConfigRequest>): ConfigRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      operation: partial.operation === undefined ? undefined : ConfigRequestOperation.fromPartial(partial.operation),
      clientType: partial.clientType,
    };
  },
};

/** A setting. */
export interface KeyValue {
  readonly key: string;
  readonly value: string | undefined;
}

/** Writes and reads `KeyValue`. */
export const KeyValue = {
  encode(message: KeyValue, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.key !== '') writer.uint32(10).string(message.key);
    if (message.value !== undefined) writer.uint32(18).string(message.value);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): KeyValue {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let key = '';
    let value: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          key = reader.string();
          break;
        case 18:
          value = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('KeyValue ends inside a field.');
    return { key, value };
  },

  fromPartial(partial: Partially<KeyValue>): KeyValue {
    return {
      key: partial.key ?? '',
      value: partial.value,
    };
  },
};

/** The settings that were changed. */
export interface ConfigResponse {
  readonly sessionId: string;
  readonly pairs: readonly KeyValue[];
  readonly warnings: readonly string[];
  /** Changes if the server loses the session. */
  readonly serverSideSessionId: string;
}

/** Writes and reads `ConfigResponse`. */
export const ConfigResponse = {
  encode(message: ConfigResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    for (const item of message.pairs) KeyValue.encode(item, writer.uint32(18).fork()).ldelim();
    for (const item of message.warnings) writer.uint32(26).string(item);
    if (message.serverSideSessionId !== '') writer.uint32(34).string(message.serverSideSessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ConfigResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    const pairs: KeyValue[] = [];
    const warnings: string[] = [];
    let serverSideSessionId = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          pairs.push(KeyValue.decode(reader, reader.uint32()));
          break;
        case 26:
          warnings.push(reader.string());
          break;
        case 34:
          serverSideSessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ConfigResponse ends inside a field.');
    return { sessionId, pairs, warnings, serverSideSessionId };
  },

  fromPartial(partial: Partially<ConfigResponse>): ConfigResponse {
    return {
      sessionId: partial.sessionId ?? '',
      pairs: partial.pairs?.map((item) => KeyValue.fromPartial(item)) ?? [],
      warnings: partial.warnings ?? [],
      serverSideSessionId: partial.serverSideSessionId ?? '',
    };
  },
};

/** Which operations to stop. */
export const InterruptRequestInterruptType = {
  INTERRUPT_TYPE_UNSPECIFIED: 0,
  INTERRUPT_TYPE_ALL: 1,
  INTERRUPT_TYPE_TAG: 2,
  INTERRUPT_TYPE_OPERATION_ID: 3,
} as const;
/** A number of `InterruptRequestInterruptType`, or one that a newer peer knows. */
export type InterruptRequestInterruptType = number;

/** Asks to stop operations. */
export interface InterruptRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly clientType: string | undefined;
  readonly interruptType: InterruptRequestInterruptType;
  readonly operationTag: string | undefined;
  readonly operationId: string | undefined;
}

/** Writes and reads `InterruptRequest`. */
export const InterruptRequest = {
  encode(message: InterruptRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.clientType !== undefined) writer.uint32(26).string(message.clientType);
    if (message.interruptType !== 0) writer.uint32(32).int32(message.interruptType);
    if (message.operationTag !== undefined) writer.uint32(42).string(message.operationTag);
    if (message.operationId !== undefined) writer.uint32(50).string(message.operationId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): InterruptRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let clientType: string | undefined;
    let interruptType = 0;
    let operationTag: string | undefined;
    let operationId: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          clientType = reader.string();
          break;
        case 32:
          interruptType = reader.int32();
          break;
        case 42:
          operationTag = reader.string();
          operationId = undefined;
          break;
        case 50:
          operationId = reader.string();
          operationTag = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('InterruptRequest ends inside a field.');
    return { sessionId, userContext, clientType, interruptType, operationTag, operationId };
  },

  fromPartial(partial: Partially<InterruptRequest>): InterruptRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      clientType: partial.clientType,
      interruptType: partial.interruptType ?? 0,
      operationTag: partial.operationTag,
      operationId: partial.operationId,
    };
  },
};

/** The operations that were stopped. */
export interface InterruptResponse {
  readonly sessionId: string;
  readonly interruptedIds: readonly string[];
}

/** Writes and reads `InterruptResponse`. */
export const InterruptResponse = {
  encode(message: InterruptResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    for (const item of message.interruptedIds) writer.uint32(18).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): InterruptResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    const interruptedIds: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          interruptedIds.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('InterruptResponse ends inside a field.');
    return { sessionId, interruptedIds };
  },

  fromPartial(partial: Partially<InterruptResponse>): InterruptResponse {
    return {
      sessionId: partial.sessionId ?? '',
      interruptedIds: partial.interruptedIds ?? [],
    };
  },
};

/** Asks for the responses of an operation. */
export interface ReattachExecuteRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly operationId: string;
  readonly clientType: string | undefined;
  /** The last response that arrived. Default: none did. */
  readonly lastResponseId: string | undefined;
  readonly clientObservedServerSideSessionId: string | undefined;
}

/** Writes and reads `ReattachExecuteRequest`. */
export const ReattachExecuteRequest = {
  encode(message: ReattachExecuteRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.operationId !== '') writer.uint32(26).string(message.operationId);
    if (message.clientType !== undefined) writer.uint32(34).string(message.clientType);
    if (message.lastResponseId !== undefined) writer.uint32(42).string(message.lastResponseId);
    if (message.clientObservedServerSideSessionId !== undefined) writer.uint32(50).string(message.clientObservedServerSideSessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReattachExecuteRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let operationId = '';
    let clientType: string | undefined;
    let lastResponseId: string | undefined;
    let clientObservedServerSideSessionId: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          operationId = reader.string();
          break;
        case 34:
          clientType = reader.string();
          break;
        case 42:
          lastResponseId = reader.string();
          break;
        case 50:
          clientObservedServerSideSessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReattachExecuteRequest ends inside a field.');
    return { sessionId, userContext, operationId, clientType, lastResponseId, clientObservedServerSideSessionId };
  },

  fromPartial(partial: Partially<ReattachExecuteRequest>): ReattachExecuteRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      operationId: partial.operationId ?? '',
      clientType: partial.clientType,
      lastResponseId: partial.lastResponseId,
      clientObservedServerSideSessionId: partial.clientObservedServerSideSessionId,
    };
  },
};

/** All responses, and the operation itself. */
export interface ReleaseExecuteRequestReleaseAll {
}

/** Writes and reads `ReleaseExecuteRequestReleaseAll`. */
export const ReleaseExecuteRequestReleaseAll = {
  encode(_message: ReleaseExecuteRequestReleaseAll, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseExecuteRequestReleaseAll {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('ReleaseExecuteRequestReleaseAll ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<ReleaseExecuteRequestReleaseAll>): ReleaseExecuteRequestReleaseAll {
    return {
    };
  },
};

/** The responses up to this one. */
export interface ReleaseExecuteRequestReleaseUntil {
  readonly responseId: string;
}

/** Writes and reads `ReleaseExecuteRequestReleaseUntil`. */
export const ReleaseExecuteRequestReleaseUntil = {
  encode(message: ReleaseExecuteRequestReleaseUntil, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.responseId !== '') writer.uint32(10).string(message.responseId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseExecuteRequestReleaseUntil {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let responseId = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          responseId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReleaseExecuteRequestReleaseUntil ends inside a field.');
    return { responseId };
  },

  fromPartial(partial: Partially<ReleaseExecuteRequestReleaseUntil>): ReleaseExecuteRequestReleaseUntil {
    return {
      responseId: partial.responseId ?? '',
    };
  },
};

/** Asks to free responses. */
export interface ReleaseExecuteRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly operationId: string;
  readonly clientType: string | undefined;
  readonly releaseAll: ReleaseExecuteRequestReleaseAll | undefined;
  readonly releaseUntil: ReleaseExecuteRequestReleaseUntil | undefined;
}

/** Writes and reads `ReleaseExecuteRequest`. */
export const ReleaseExecuteRequest = {
  encode(message: ReleaseExecuteRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.operationId !== '') writer.uint32(26).string(message.operationId);
    if (message.clientType !== undefined) writer.uint32(34).string(message.clientType);
    if (message.releaseAll !== undefined) ReleaseExecuteRequestReleaseAll.encode(message.releaseAll, writer.uint32(42).fork()).ldelim();
    if (message.releaseUntil !== undefined) ReleaseExecuteRequestReleaseUntil.encode(message.releaseUntil, writer.uint32(50).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseExecuteRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let operationId = '';
    let clientType: string | undefined;
    let releaseAll: ReleaseExecuteRequestReleaseAll | undefined;
    let releaseUntil: ReleaseExecuteRequestReleaseUntil | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          operationId = reader.string();
          break;
        case 34:
          clientType = reader.string();
          break;
        case 42:
          releaseAll = ReleaseExecuteRequestReleaseAll.decode(reader, reader.uint32());
          releaseUntil = undefined;
          break;
        case 50:
          releaseUntil = ReleaseExecuteRequestReleaseUntil.decode(reader, reader.uint32());
          releaseAll = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReleaseExecuteRequest ends inside a field.');
    return { sessionId, userContext, operationId, clientType, releaseAll, releaseUntil };
  },

  fromPartial(partial: Partially<ReleaseExecuteRequest>): ReleaseExecuteRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      operationId: partial.operationId ?? '',
      clientType: partial.clientType,
      releaseAll: partial.releaseAll === undefined ? undefined : ReleaseExecuteRequestReleaseAll.fromPartial(partial.releaseAll),
      releaseUntil: partial.releaseUntil === undefined ? undefined : ReleaseExecuteRequestReleaseUntil.fromPartial(partial.releaseUntil),
    };
  },
};

/** What was freed. */
export interface ReleaseExecuteResponse {
  readonly sessionId: string;
  readonly operationId: string | undefined;
}

/** Writes and reads `ReleaseExecuteResponse`. */
export const ReleaseExecuteResponse = {
  encode(message: ReleaseExecuteResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.operationId !== undefined) writer.uint32(18).string(message.operationId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseExecuteResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let operationId: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          operationId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReleaseExecuteResponse ends inside a field.');
    return { sessionId, operationId };
  },

  fromPartial(partial: Partially<ReleaseExecuteResponse>): ReleaseExecuteResponse {
    return {
      sessionId: partial.sessionId ?? '',
      operationId: partial.operationId,
    };
  },
};

/** Asks to end a session. */
export interface ReleaseSessionRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly clientType: string | undefined;
}

/** Writes and reads `ReleaseSessionRequest`. */
export const ReleaseSessionRequest = {
  encode(message: ReleaseSessionRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.clientType !== undefined) writer.uint32(26).string(message.clientType);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseSessionRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let clientType: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          clientType = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReleaseSessionRequest ends inside a field.');
    return { sessionId, userContext, clientType };
  },

  fromPartial(partial: Partially<ReleaseSessionRequest>): ReleaseSessionRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      clientType: partial.clientType,
    };
  },
};

/** The session that ended. */
export interface ReleaseSessionResponse {
  readonly sessionId: string;
}

/** Writes and reads `ReleaseSessionResponse`. */
export const ReleaseSessionResponse = {
  encode(message: ReleaseSessionResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ReleaseSessionResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ReleaseSessionResponse ends inside a field.');
    return { sessionId };
  },

  fromPartial(partial: Partially<ReleaseSessionResponse>): ReleaseSessionResponse {
    return {
      sessionId: partial.sessionId ?? '',
    };
  },
};

/** Asks for a copy of a session. */
export interface CloneSessionRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly clientType: string | undefined;
  readonly newSessionId: string | undefined;
  /** The session of the server as it was seen before: the request fails if the server has lost it since. */
  readonly clientObservedServerSideSessionId: string | undefined;
}

/** Writes and reads `CloneSessionRequest`. */
export const CloneSessionRequest = {
  encode(message: CloneSessionRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.clientType !== undefined) writer.uint32(26).string(message.clientType);
    if (message.newSessionId !== undefined) writer.uint32(34).string(message.newSessionId);
    if (message.clientObservedServerSideSessionId !== undefined) writer.uint32(42).string(message.clientObservedServerSideSessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CloneSessionRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let clientType: string | undefined;
    let newSessionId: string | undefined;
    let clientObservedServerSideSessionId: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          clientType = reader.string();
          break;
        case 34:
          newSessionId = reader.string();
          break;
        case 42:
          clientObservedServerSideSessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CloneSessionRequest ends inside a field.');
    return { sessionId, userContext, clientType, newSessionId, clientObservedServerSideSessionId };
  },

  fromPartial(partial: Partially<CloneSessionRequest>): CloneSessionRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      clientType: partial.clientType,
      newSessionId: partial.newSessionId,
      clientObservedServerSideSessionId: partial.clientObservedServerSideSessionId,
    };
  },
};

/** The copy of a session. */
export interface CloneSessionResponse {
  readonly sessionId: string;
  readonly serverSideSessionId: string;
  readonly newSessionId: string;
  readonly newServerSideSessionId: string;
}

/** Writes and reads `CloneSessionResponse`. */
export const CloneSessionResponse = {
  encode(message: CloneSessionResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.serverSideSessionId !== '') writer.uint32(18).string(message.serverSideSessionId);
    if (message.newSessionId !== '') writer.uint32(26).string(message.newSessionId);
    if (message.newServerSideSessionId !== '') writer.uint32(34).string(message.newServerSideSessionId);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CloneSessionResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let serverSideSessionId = '';
    let newSessionId = '';
    let newServerSideSessionId = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          serverSideSessionId = reader.string();
          break;
        case 26:
          newSessionId = reader.string();
          break;
        case 34:
          newServerSideSessionId = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CloneSessionResponse ends inside a field.');
    return { sessionId, serverSideSessionId, newSessionId, newServerSideSessionId };
  },

  fromPartial(partial: Partially<CloneSessionResponse>): CloneSessionResponse {
    return {
      sessionId: partial.sessionId ?? '',
      serverSideSessionId: partial.serverSideSessionId ?? '',
      newSessionId: partial.newSessionId ?? '',
      newServerSideSessionId: partial.newServerSideSessionId ?? '',
    };
  },
};

/** Asks for the details of an error. */
export interface FetchErrorDetailsRequest {
  readonly sessionId: string;
  readonly userContext: UserContext | undefined;
  readonly errorId: string;
  readonly clientType: string | undefined;
}

/** Writes and reads `FetchErrorDetailsRequest`. */
export const FetchErrorDetailsRequest = {
  encode(message: FetchErrorDetailsRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sessionId !== '') writer.uint32(10).string(message.sessionId);
    if (message.userContext !== undefined) UserContext.encode(message.userContext, writer.uint32(18).fork()).ldelim();
    if (message.errorId !== '') writer.uint32(26).string(message.errorId);
    if (message.clientType !== undefined) writer.uint32(34).string(message.clientType);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FetchErrorDetailsRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sessionId = '';
    let userContext: UserContext | undefined;
    let errorId = '';
    let clientType: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sessionId = reader.string();
          break;
        case 18:
          userContext = UserContext.decode(reader, reader.uint32());
          break;
        case 26:
          errorId = reader.string();
          break;
        case 34:
          clientType = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FetchErrorDetailsRequest ends inside a field.');
    return { sessionId, userContext, errorId, clientType };
  },

  fromPartial(partial: Partially<FetchErrorDetailsRequest>): FetchErrorDetailsRequest {
    return {
      sessionId: partial.sessionId ?? '',
      userContext: partial.userContext === undefined ? undefined : UserContext.fromPartial(partial.userContext),
      errorId: partial.errorId ?? '',
      clientType: partial.clientType,
    };
  },
};

/** One error of the chain. */
export interface FetchErrorDetailsResponseError {
  readonly errorTypeHierarchy: readonly string[];
  readonly message: string;
  readonly causeIdx: number | undefined;
  readonly sparkThrowable: FetchErrorDetailsResponseSparkThrowable | undefined;
}

/** Writes and reads `FetchErrorDetailsResponseError`. */
export const FetchErrorDetailsResponseError = {
  encode(message: FetchErrorDetailsResponseError, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.errorTypeHierarchy) writer.uint32(10).string(item);
    if (message.message !== '') writer.uint32(18).string(message.message);
    if (message.causeIdx !== undefined) writer.uint32(32).int32(message.causeIdx);
    if (message.sparkThrowable !== undefined) FetchErrorDetailsResponseSparkThrowable.encode(message.sparkThrowable, writer.uint32(42).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FetchErrorDetailsResponseError {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const errorTypeHierarchy: string[] = [];
    let message = '';
    let causeIdx: number | undefined;
    let sparkThrowable: FetchErrorDetailsResponseSparkThrowable | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          errorTypeHierarchy.push(reader.string());
          break;
        case 18:
          message = reader.string();
          break;
        case 32:
          causeIdx = reader.int32();
          break;
        case 42:
          sparkThrowable = FetchErrorDetailsResponseSparkThrowable.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FetchErrorDetailsResponseError ends inside a field.');
    return { errorTypeHierarchy, message, causeIdx, sparkThrowable };
  },

  fromPartial(partial: Partially<FetchErrorDetailsResponseError>): FetchErrorDetailsResponseError {
    return {
      errorTypeHierarchy: partial.errorTypeHierarchy ?? [],
      message: partial.message ?? '',
      causeIdx: partial.causeIdx,
      sparkThrowable: partial.sparkThrowable === undefined ? undefined : FetchErrorDetailsResponseSparkThrowable.fromPartial(partial.sparkThrowable),
    };
  },
};

/** What Spark knows of an error. */
export interface FetchErrorDetailsResponseSparkThrowable {
  readonly errorClass: string | undefined;
  readonly messageParameters: ReadonlyMap<string, string>;
  readonly queryContexts: readonly FetchErrorDetailsResponseQueryContext[];
  readonly sqlState: string | undefined;
}

/** Writes and reads `FetchErrorDetailsResponseSparkThrowable`. */
export const FetchErrorDetailsResponseSparkThrowable = {
  encode(message: FetchErrorDetailsResponseSparkThrowable, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.errorClass !== undefined) writer.uint32(10).string(message.errorClass);
    for (const [key, value] of message.messageParameters) {
      writer.uint32(18).fork().uint32(10).string(key);
      writer.uint32(18).string(value);
      writer.ldelim();
    }
    for (const item of message.queryContexts) FetchErrorDetailsResponseQueryContext.encode(item, writer.uint32(26).fork()).ldelim();
    if (message.sqlState !== undefined) writer.uint32(34).string(message.sqlState);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FetchErrorDetailsResponseSparkThrowable {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let errorClass: string | undefined;
    const messageParameters = new Map<string, string>();
    const queryContexts: FetchErrorDetailsResponseQueryContext[] = [];
    let sqlState: string | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          errorClass = reader.string();
          break;
        case 18: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: string = '';
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = reader.string();
            else reader.skipType(part & 7);
          }
          messageParameters.set(key, value);
          break;
        }
        case 26:
          queryContexts.push(FetchErrorDetailsResponseQueryContext.decode(reader, reader.uint32()));
          break;
        case 34:
          sqlState = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FetchErrorDetailsResponseSparkThrowable ends inside a field.');
    return { errorClass, messageParameters, queryContexts, sqlState };
  },

  fromPartial(partial: Partially<FetchErrorDetailsResponseSparkThrowable>): FetchErrorDetailsResponseSparkThrowable {
    return {
      errorClass: partial.errorClass,
      messageParameters: partial.messageParameters ?? new Map(),
      queryContexts: partial.queryContexts?.map((item) => FetchErrorDetailsResponseQueryContext.fromPartial(item)) ?? [],
      sqlState: partial.sqlState,
    };
  },
};

/** A place in a query. */
export interface FetchErrorDetailsResponseQueryContext {
  readonly objectType: string;
  readonly objectName: string;
  /** Characters from 0. */
  readonly startIndex: number;
  readonly stopIndex: number;
  readonly fragment: string;
  readonly summary: string;
}

/** Writes and reads `FetchErrorDetailsResponseQueryContext`. */
export const FetchErrorDetailsResponseQueryContext = {
  encode(message: FetchErrorDetailsResponseQueryContext, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.objectType !== '') writer.uint32(10).string(message.objectType);
    if (message.objectName !== '') writer.uint32(18).string(message.objectName);
    if (message.startIndex !== 0) writer.uint32(24).int32(message.startIndex);
    if (message.stopIndex !== 0) writer.uint32(32).int32(message.stopIndex);
    if (message.fragment !== '') writer.uint32(42).string(message.fragment);
    if (message.summary !== '') writer.uint32(58).string(message.summary);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FetchErrorDetailsResponseQueryContext {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let objectType = '';
    let objectName = '';
    let startIndex = 0;
    let stopIndex = 0;
    let fragment = '';
    let summary = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          objectType = reader.string();
          break;
        case 18:
          objectName = reader.string();
          break;
        case 24:
          startIndex = reader.int32();
          break;
        case 32:
          stopIndex = reader.int32();
          break;
        case 42:
          fragment = reader.string();
          break;
        case 58:
          summary = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FetchErrorDetailsResponseQueryContext ends inside a field.');
    return { objectType, objectName, startIndex, stopIndex, fragment, summary };
  },

  fromPartial(partial: Partially<FetchErrorDetailsResponseQueryContext>): FetchErrorDetailsResponseQueryContext {
    return {
      objectType: partial.objectType ?? '',
      objectName: partial.objectName ?? '',
      startIndex: partial.startIndex ?? 0,
      stopIndex: partial.stopIndex ?? 0,
      fragment: partial.fragment ?? '',
      summary: partial.summary ?? '',
    };
  },
};

/** An error and its causes. */
export interface FetchErrorDetailsResponse {
  readonly rootErrorIdx: number | undefined;
  readonly errors: readonly FetchErrorDetailsResponseError[];
}

/** Writes and reads `FetchErrorDetailsResponse`. */
export const FetchErrorDetailsResponse = {
  encode(message: FetchErrorDetailsResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.rootErrorIdx !== undefined) writer.uint32(8).int32(message.rootErrorIdx);
    for (const item of message.errors) FetchErrorDetailsResponseError.encode(item, writer.uint32(18).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FetchErrorDetailsResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let rootErrorIdx: number | undefined;
    const errors: FetchErrorDetailsResponseError[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          rootErrorIdx = reader.int32();
          break;
        case 18:
          errors.push(FetchErrorDetailsResponseError.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FetchErrorDetailsResponse ends inside a field.');
    return { rootErrorIdx, errors };
  },

  fromPartial(partial: Partially<FetchErrorDetailsResponse>): FetchErrorDetailsResponse {
    return {
      rootErrorIdx: partial.rootErrorIdx,
      errors: partial.errors?.map((item) => FetchErrorDetailsResponseError.fromPartial(item)) ?? [],
    };
  },
};

/** Runs plans on a Spark cluster. */
export const SparkConnectServiceDefinition = {
  name: 'SparkConnectService',
  fullName: 'spark.connect.SparkConnectService',
  methods: {
    /** Runs a plan; the responses are its rows. */
    executePlan: {
      name: 'ExecutePlan',
      requestType: ExecutePlanRequest,
      requestStream: false,
      responseType: ExecutePlanResponse,
      responseStream: true,
      options: {},
    },
    /** Changes settings of a session. */
    config: {
      name: 'Config',
      requestType: ConfigRequest,
      requestStream: false,
      responseType: ConfigResponse,
      responseStream: false,
      options: {},
    },
    /** Stops operations of a session. */
    interrupt: {
      name: 'Interrupt',
      requestType: InterruptRequest,
      requestStream: false,
      responseType: InterruptResponse,
      responseStream: false,
      options: {},
    },
    /** Continues to read the responses of an operation, after the last one that arrived. */
    reattachExecute: {
      name: 'ReattachExecute',
      requestType: ReattachExecuteRequest,
      requestStream: false,
      responseType: ExecutePlanResponse,
      responseStream: true,
      options: {},
    },
    /** Frees responses that the server keeps for a reattachment. */
    releaseExecute: {
      name: 'ReleaseExecute',
      requestType: ReleaseExecuteRequest,
      requestStream: false,
      responseType: ReleaseExecuteResponse,
      responseStream: false,
      options: {},
    },
    /** Ends a session. */
    releaseSession: {
      name: 'ReleaseSession',
      requestType: ReleaseSessionRequest,
      requestStream: false,
      responseType: ReleaseSessionResponse,
      responseStream: false,
      options: {},
    },
    /** Returns the details of an error, by the id in its status. */
    fetchErrorDetails: {
      name: 'FetchErrorDetails',
      requestType: FetchErrorDetailsRequest,
      requestStream: false,
      responseType: FetchErrorDetailsResponse,
      responseStream: false,
      options: {},
    },
    /** Opens a session with the state of another one of the same user. Since Spark 4.1. */
    cloneSession: {
      name: 'CloneSession',
      requestType: CloneSessionRequest,
      requestStream: false,
      responseType: CloneSessionResponse,
      responseStream: false,
      options: {},
    },
  },
} as const;

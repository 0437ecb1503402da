import { wordsIn } from './token.ts';

/**
 * Words that give a query its structure. Without quotes they name nothing here, although some engines allow that: a text
 * must not have a second reading in which a table stands at another place.
 */
export const STRUCTURE_WORDS: ReadonlySet<string> = new Set(
  wordsIn(`all and anti any as asof between by case cluster cross cube distinct distribute else except exists fetch for
    from full group having identifier in inner intersect into is join lateral left like limit match_condition
    minus natural nearest not of offset on or order outer pivot qualify recursive right rollup select semi set sets sort
    stream table tablesample then union unpivot using values view when where window with within`),
);

/** Words that start statements other than queries. */
export const COMMAND_WORDS: ReadonlySet<string> = new Set(
  wordsIn(`add alter analyze attach auto begin cache call checkpoint clear comment commit copy create declare delete desc
    describe detach drop execute exit explain export force from get grant handle import insert install kill list load lock map
    merge move msck open optimize pragma prepare purge put reduce refresh rename repair replace reset restore revoke rollback
    savepoint set show start summarize system table truncate unarchive uncache undrop unload unlock unset update upsert use
    vacuum watch`),
);

/** Words that keep their meaning before a parenthesis in every dialect. */
export const WORDS_BEFORE_PARENTHESIS: readonly string[] =
  wordsIn(`all and any as between by case cube distinct div else
  except exists filter for from group having ilike in intersect is join lateral like limit match_condition minus not nulls
  offset on or over pivot qualify regexp repeatable rlike rollup select sets some tablesample then union unpivot using
  values when where within char character dec decimal numeric timestamp varchar`);

// A MySQL or MariaDB dump, as mysqldump and mariadb-dump write it, read like the database itself: each statement begins on its own
// line, and no value contains a line break. It must never keep an unneeded table in memory: the logs of a gateway are gigabytes.

import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { CommandFailed } from '../lib/errors'
import type { SourceDatabase, SourceRow } from './source'

type Value = string | number | null

/** The beginning of a dump: comments. */
const HEAD = /^(--|\/\*)/
/** Dumps that mark their end. */
const SAYS_ITS_END = /^-- (MySQL|MariaDB) dump/m
const END_BYTES = 512
const STATEMENT = /^(CREATE TABLE|INSERT INTO)(?: IF NOT EXISTS)? `([^`]+)`/
const COLUMN = /^\s+`([^`]+)` /gm
const INSERTED_COLUMNS = /^INSERT INTO `[^`]+` \(([^)]*)\) VALUES/
/** One value and its separator: another value follows, or the row ends. */
const VALUE = /\s*(?:_binary\s+)?(?:'((?:[^'\\]+|\\.|'')*)'|([^\s,()']+))\s*([,)])/sy
const BETWEEN_ROWS = /\s*[,;]?\s*/y
const ESCAPED = new Map([
  ['0', '\0'],
  ['b', '\b'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['Z', '\x1a'],
])

/** Whether a file is a dump, by how it begins. Throws for an incomplete dump, and for one of PostgreSQL. */
export function isDump(file: string): boolean {
  const [head, tail] = endsOf(file)
  if (head.includes('PostgreSQL database dump'))
    throw new CommandFailed(
      `${file} is a dump of PostgreSQL, which is not read: give the address of a database.`,
    )
  if (SAYS_ITS_END.test(head) && !tail.includes('-- Dump completed')) throw torn(file)
  return HEAD.test(head)
}

/** The first and the last bytes of a file. */
function endsOf(file: string): [head: string, tail: string] {
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const bytes = Buffer.alloc(END_BYTES)
    const at = (start: number) => bytes.toString('latin1', 0, readSync(handle, bytes, 0, END_BYTES, start))
    return [at(0), at(Math.max(0, size - END_BYTES))]
  } finally {
    closeSync(handle)
  }
}

function torn(file: string): CommandFailed {
  return new CommandFailed(`${file} ends before its end: the dump is not whole.`)
}

export function openDump(
  file: string,
  without: (table: string, need: 'needed' | undefined) => SourceRow[],
): SourceDatabase {
  return {
    async rows(table, orderBy, need) {
      const rows: SourceRow[] = []
      let columns: string[] | undefined
      for await (const [kind, statement] of statementsOf(file, table)) {
        if (kind === 'CREATE TABLE') columns = [...statement.matchAll(COLUMN)].map(([, name = '']) => name)
        else rows.push(...insertedRows(statement, columns ?? [], file))
      }
      if (!columns) return without(table, need)
      return rows.sort((one, other) => compare(one[orderBy] as Value, other[orderBy] as Value))
    },
    async close() {},
  }
}

/** The statements that create a table and its rows, in order. */
async function* statementsOf(file: string, table: string): AsyncGenerator<[kind: string, statement: string]> {
  let kind: string | undefined
  let lines: string[] = []
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (kind === undefined) {
      const [, word, name] = STATEMENT.exec(line) ?? []
      if (name !== table) continue
      kind = word
    }
    lines.push(line)
    if (!line.trimEnd().endsWith(';')) continue
    yield [kind as string, lines.join('\n')]
    kind = undefined
    lines = []
  }
  if (kind !== undefined) throw torn(file)
}

function insertedRows(statement: string, all: readonly string[], file: string): SourceRow[] {
  const [, named] = INSERTED_COLUMNS.exec(statement) ?? []
  const columns = named?.split(',').map((name) => name.trim().replaceAll('`', '')) ?? all
  const rows: SourceRow[] = []
  let at = statement.indexOf('VALUES') + 'VALUES'.length
  while (at < statement.length) {
    BETWEEN_ROWS.lastIndex = at
    BETWEEN_ROWS.exec(statement)
    at = BETWEEN_ROWS.lastIndex
    if (at >= statement.length) break
    const values: Value[] = []
    VALUE.lastIndex = at + 1
    for (let end = ','; end === ','; ) {
      const found = statement[at] === '(' ? VALUE.exec(statement) : null
      if (!found)
        throw new CommandFailed(
          `${file} cannot be read as a dump: ${statement.slice(0, 60)}… has no such values.`,
        )
      const [, text, word = '', next = ''] = found
      values.push(text === undefined ? plainValue(word) : unescaped(text))
      end = next
    }
    at = VALUE.lastIndex
    rows.push(Object.fromEntries(columns.map((name, index) => [name, values[index] ?? null])))
  }
  return rows
}

/** A value without quotes: a number, a word, or bytes. A number that exceeds the range of one stays a text. */
function plainValue(word: string): Value {
  if (word === 'NULL') return null
  if (/^0x([0-9a-f]{2})+$/i.test(word)) return Buffer.from(word.slice(2), 'hex').toString()
  const number = Number(word)
  return Number.isNaN(number) || (Number.isInteger(number) && !Number.isSafeInteger(number)) ? word : number
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)|''/gs, (_, letter?: string) =>
    letter === undefined ? "'" : (ESCAPED.get(letter) ?? letter),
  )
}

function compare(one: Value, other: Value): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  return String(one) < String(other) ? -1 : 1
}

// A simulator of ClickHouse's HTTP interface, as far as the request log uses it: statements in `query`, parameters in
// `param_…`, rows as JSONEachRow, answers as JSON. Rows that were sent twice stand there twice until a query takes one.

type Row = Record<string, string | number | null>

export interface ClickHouseServer {
  url: string
  statements: string[]
  rows: Row[]
  users: Set<string>
  /** Statuses of the next answers, after the statement has been carried out; then 200. */
  faults: number[]
  stop(): Promise<void>
}

export function startClickHouse(): ClickHouseServer {
  const server: Omit<ClickHouseServer, 'url' | 'stop'> = {
    statements: [],
    rows: [],
    users: new Set(),
    faults: [],
  }
  const http = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { searchParams } = new URL(request.url)
      const query = searchParams.get('query') ?? ''
      server.statements.push(query)
      server.users.add(
        `${request.headers.get('x-clickhouse-user')}:${request.headers.get('x-clickhouse-key')}`,
      )
      const text = await request.text()
      if (/^insert into \w+ format JSONEachRow$/.test(query)) {
        server.rows.push(...text.split('\n').map((line) => JSON.parse(line) as Row))
      }
      const fault = server.faults.shift()
      if (fault !== undefined) return new Response('Code: 999. DB::Exception', { status: fault })
      if (!query.startsWith('select')) return new Response('')
      return Response.json({ data: select(server.rows, query, searchParams) })
    },
  })
  return {
    ...server,
    url: `http://127.0.0.1:${http.port}`,
    stop: () => http.stop(true),
  }
}

/** The rows of a query, whose conditions are those that the request log writes. */
function select(rows: readonly Row[], query: string, parameters: URLSearchParams): Row[] {
  const value = (text: string) => {
    const [, name] = /^\{(\w+):\w+\}$/.exec(text) ?? []
    return name === undefined ? Number(text) : unescaped(parameters.get(`param_${name}`) ?? '')
  }
  const [, where = ''] = /where (.*?)(?: order by| limit| format)/.exec(query) ?? []
  const conditions = where.split(/ and (?!\d)/).filter((each) => each.trim() !== '')
  const meets = (row: Row) => conditions.every((condition) => isMet(row, condition.trim(), value))
  const [, limit = '0'] = /limit (\d+) format/.exec(query) ?? []
  const once = new Map(rows.filter(meets).map((row) => [row.id, row]))
  const newest = [...once.values()].sort((one, other) =>
    one.at === other.at ? (String(one.id) < String(other.id) ? 1 : -1) : Number(other.at) - Number(one.at),
  )
  return newest.slice(0, Number(limit))
}

function isMet(row: Row, condition: string, value: (text: string) => string | number): boolean {
  const [, from, to] = /^status between (\d+) and (\d+)$/.exec(condition) ?? []
  if (from !== undefined) return Number(row.status) >= Number(from) && Number(row.status) <= Number(to)
  if (condition === '(status >= 400 or error_code is not null)')
    return Number(row.status) >= 400 || row.error_code !== null
  const [, at, id] = /^\(at, id\) < \((\d+), (\{\w+:String\})\)$/.exec(condition) ?? []
  if (at !== undefined && id !== undefined) {
    return (
      Number(row.at) < Number(at) || (Number(row.at) === Number(at) && String(row.id) < String(value(id)))
    )
  }
  const [, said] = /^position\(metadata, (\{\w+:String\})\) > 0$/.exec(condition) ?? []
  if (said !== undefined) return String(row.metadata ?? '').includes(String(value(said)))
  const [, column = '', operator, right = ''] = /^(\w+) (=|>=|<) (\S+)$/.exec(condition) ?? []
  if (operator === '=') return row[column] === value(right)
  if (operator === '>=') return Number(row[column]) >= Number(value(right))
  if (operator === '<') return Number(row[column]) < Number(value(right))
  throw new Error(`the simulator does not know: ${condition}`)
}

/** A value of a parameter, which comes in the escapes of a tab-separated file. */
function unescaped(text: string): string {
  const meant: Record<string, string> = { t: '\t', n: '\n' }
  return text.replace(/\\(.)/g, (_whole, letter: string) => meant[letter] ?? letter)
}

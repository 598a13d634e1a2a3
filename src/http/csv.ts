// Tables as comma-separated values, sent as they are read, so that a large one takes no memory. A spreadsheet program must never
// read a value as a formula.

export function csvResponse<Row>(
  name: string,
  titles: readonly string[],
  pages: AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>,
  cells: (row: Row) => readonly (string | number | null)[],
): Response {
  // Bun takes a generator as a body.
  async function* lines() {
    const encoder = new TextEncoder()
    yield encoder.encode(`${titles.join(',')}\r\n`)
    for await (const page of pages) {
      const text = page.map((row) => `${cells(row).map(csvCell).join(',')}\r\n`).join('')
      if (text !== '') yield encoder.encode(text)
    }
  }
  return new Response(lines() as unknown as ReadableStream, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
    },
  })
}

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  const isFormula = typeof value === 'string' && /^[=+@\t\r]|^-(?![\d.]+$)/.test(text)
  const safe = isFormula ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

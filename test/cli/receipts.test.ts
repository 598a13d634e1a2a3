// Receipts as a customer checks them: with `gateway receipts verify`, which needs no gateway, and with the program of
// docs/receipts.md, which is in Python and shares no code with ours.

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import { named, pythonWithCryptography } from '../support/processes/python-packages'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const { inShell } = createCommandLine(folder)
const run = (line: string) => inShell.call(line.split(' '))
const gateway = await startTestGateway({ config: { receipts: true } })
afterAll(() => gateway.close())
const python = await pythonWithCryptography()

const receipts: string[] = []
for (let count = 0; count < 3; count++) {
  const response = await gateway.chat()
  receipts.push(response.headers.get('x-gateway-receipt') ?? '')
  await response.text()
}
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
write('receipts.txt', `${receipts.join('\n')}\n\n`)
write('keys.json', await (await fetch(`${gateway.url}/v1/receipts/keys`)).text())
const [head, body, signature] = (receipts[0] ?? '').split('.')
const { kid } = JSON.parse(Buffer.from(head ?? '', 'base64url').toString())
const payload = JSON.parse(Buffer.from(body ?? '', 'base64url').toString())
const changed = Buffer.from(JSON.stringify({ ...payload, amount_usd: '0.00' })).toString('base64url')
write('forged.txt', `${receipts[1]}\n${head}.${changed}.${signature}\nnothing\n`)
write(
  'other.json',
  JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32, 1).toString('base64url') }),
)

test('receipts are checked without a server and a database, and a changed one is named by its line', async () => {
  const good = await run('receipts verify receipts.txt --key keys.json')
  expect(good).toMatchObject({ code: 0, stdout: '3 receipts are genuine, of $0.000126 together.\n' })
  const printed = await run('receipts verify receipts.txt --key keys.json --json')
  expect(JSON.parse(printed.stdout)).toMatchObject({
    receipts: [payload, {}, {}],
    faults: [],
  })
  const forged = await run('receipts verify forged.txt --key keys.json')
  expect(forged.code).not.toBe(0)
  expect(forged.stderr).toContain('line 2: its signature does not fit: it was changed')
  expect(forged.stderr).toContain('line 3: it is not a signed text')
  expect((await run('receipts verify receipts.txt --key other.json')).stderr).toContain(
    `it is signed with the key ${kid}, which is not among those given`,
  )
  for (const line of [
    'receipts.txt --key none.json',
    'none.txt --key keys.json',
    'receipts.txt --key receipts.txt',
  ])
    expect((await run(`receipts verify ${line}`)).code).not.toBe(0)
})

const program = /```python\n([\s\S]*?)```/.exec(readFileSync('docs/receipts.md', 'utf8'))?.[1] ?? ''

test.skipIf(python.fault !== undefined)(
  named('the program of the document agrees, in Python', python),
  async () => {
    write('check.py', program)
    const check = (file: string) =>
      Bun.spawnSync([python.program ?? '', 'check.py', 'keys.json'], {
        cwd: folder,
        stdin: Bun.file(join(folder, file)),
      })
    const good = check('receipts.txt')
    expect(good.stderr.toString()).toBe('')
    expect(
      good.stdout
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([payload, {}, {}])
    const forged = check('forged.txt')
    expect(forged.exitCode).not.toBe(0)
    expect(forged.stderr.toString()).toContain('InvalidSignature')
  },
)

// Every command block of README.md and docs/. A block of `sh` is run as printed, in the folder of a gateway that serves, and so are
// the lines of a `console` block that begin with `$ `. A block with a mark needs what a test lacks: it is parsed and counted.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { type Sandbox, startSandbox } from '../../sandbox'
import { picture } from '../../sandbox/pictures'
import { makeSessionToken, openSession, subjectOfRole } from '../../src/accounts/sessions'
import { randomBytes } from '../../src/app/world'
import { hold, settle } from '../../src/billing/ledger/ledger'
import { apply } from '../../src/db/db'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { makeOneApi } from '../support/databases/other-gateways'
import { whenTestsEnd } from '../support/ending'
import { waitFor } from '../support/gateway'
import { createCommandLine, PROGRAM, runtimeFor } from '../support/processes/command-line'
import { freePort } from '../support/processes/free-port'

setDefaultTimeout(600_000)

const ROOT = join(import.meta.dir, '../..')
const LANGUAGES = ['sh', 'console', 'text', 'ts', 'json', 'yaml', 'sql', 'nginx', 'python']
/** A block needs the rights of root, a machine, file or account elsewhere, or does not end within seconds. */
const MARKS = { root: 5, elsewhere: 30, long: 6 }
/** Commands that exit with 1 if they find something to report. */
const REPORTING = ['doctor', 'reconcile', 'upstreams test', 'health --ready']

interface Block {
  /** The page and the line. */
  place: string
  language: string
  mark: string | undefined
  /** The commands of the block, as a reader types them. */
  script: string
}

/** The blocks of a page. */
async function blocksOf(page: string): Promise<Block[]> {
  const text = await Bun.file(join(ROOT, page)).text()
  return [...text.matchAll(/^( *)```(\S*) ?(\S*)\n([\s\S]*?)^ *```$/gm)].map((found) => {
    const [, , language = '', mark = '', content = ''] = found
    const prompts = [...content.matchAll(/^ *\$ (.*)$/gm)].map(([, line]) => line)
    return {
      place: `${page}:${text.slice(0, found.index).split('\n').length}`,
      language,
      mark: mark || undefined,
      script: language === 'sh' ? content : prompts.join('\n'),
    }
  })
}

const pages = ['README.md', ...(await Array.fromAsync(new Glob('docs/**/*.md').scan(ROOT))).sort()]
const blocks = (await Promise.all(pages.map(blocksOf))).flat()
const isCommands = (language: string) => language === 'sh' || language === 'console'
const typed = blocks.filter(({ language, script }) => isCommands(language) && script !== '')

test('each block has a language, and blocks that are not run are counted', () => {
  const unknown = blocks.filter(
    ({ language, mark }) =>
      !LANGUAGES.includes(language) || (mark !== undefined && !(isCommands(language) && mark in MARKS)),
  )
  expect(unknown.map(({ place }) => place)).toEqual([])
  const empty = blocks.filter(({ language, script }) => language === 'console' && script === '')
  expect(empty.map(({ place }) => place)).toEqual([])
  const counts = Object.keys(MARKS).map((mark) => [
    mark,
    blocks.filter((block) => block.mark === mark).length,
  ])
  expect(Object.fromEntries(counts)).toEqual(MARKS)
})

const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const { environment, json, inShell } = createCommandLine(folder, dataDir)

/** Whether a command exists, and the flags of a call that its help does not have. */
async function knowledgeOf(call: string): Promise<{ call: string; isKnown: boolean; missing: string[] }> {
  const words = call.split(/ (?:&&|[|&>]) ?/)[0]?.split(/\s+/) ?? []
  const end = words.findIndex((word, place) => !/^[a-z]+(-[a-z]+)*$/.test(word) || place === 2)
  const { stdout } = await inShell.call([...words.slice(0, end >>> 0), '--help'])
  const missing = words.filter((word) => /^--(?!help)/.test(word) && !stdout.includes(word))
  return { call, isKnown: stdout.includes('Usage'), missing }
}

describe('a block that is not run uses only existing commands and flags', () => {
  for (const { place, script } of typed.filter(({ mark }) => mark !== undefined)) {
    test(place, async () => {
      expect(Bun.spawnSync(['bash', '-n', '-c', script]).stderr.toString()).toBe('')
      const calls = script.replaceAll(/ #.*$/gm, '').matchAll(/^(?:sudo |dist\/)?gateway ([a-z].*)$/gm)
      for (const [, call = ''] of calls)
        expect(await knowledgeOf(call)).toEqual({ call, isKnown: true, missing: [] })
    })
  }
})

test('sentences and tables use only existing commands and flags', async () => {
  const texts = await Promise.all(pages.map((page) => Bun.file(join(ROOT, page)).text()))
  const prose = texts.join('\n').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  const calls = [...new Set([...prose.matchAll(/`gateway ([a-z][^`]*)`/g)].map(([, call = '']) => call))]
  expect(calls.length).toBeGreaterThan(100)
  const known = []
  for (const call of calls) known.push(await knowledgeOf(call))
  expect(known.filter(({ isKnown, missing }) => !isKnown || missing.length > 0)).toEqual([])
})

test('each other block runs without an error', async () => {
  const place = await openPlace()
  const runnable = typed.filter(({ mark }) => mark === undefined)
  expect(runnable.length).toBeGreaterThan(25)
  const failed: { place: string; output: string }[] = []
  for (const block of runnable) {
    const { code, output } = await place.run(block.script)
    if (code !== 0) failed.push({ place: block.place, output })
  }
  expect(failed).toEqual([])
  await place.stop()
})

/** The folder of an operator after some weeks: a configuration, an account with charges of two Octobers, and a gateway that serves. */
async function openPlace() {
  const vendors = startSandbox()
  whenTestsEnd(() => vendors.stop())
  const receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') })
  whenTestsEnd(() => receiver.stop(true))
  writeFiles(vendors, `${receiver.url}events`)
  copyFileSync(await makeOneApi('sqlite', 'one-api', vendors.baseUrls.openai), join(folder, 'one-api.db'))
  const { key } = await json('keys create alice --balance 50')
  const { token } = await json('admins create operator --role owner')
  await fillDatabase()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = Bun.spawn([...PROGRAM, 'serve', '--port', String(port)], {
    cwd: folder,
    env: environment({ GATEWAY_DATA_DIR: dataDir, ...runtimeFor(['serve']) }),
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  whenTestsEnd(() => server.kill('SIGKILL'))
  const isReady = async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok === true
  await waitFor(isReady)

  const send = (path: string, body: object, headers = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const answer = await send('/v1/chat/completions', {
    model: 'small',
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const task = await send('/v1/images/generations', { model: 'pgt-image-2', prompt: 'A fox', async: true })
  const [redeemable, revocable] = await json('codes create --amount 20 --count 2')
  const own: [RegExp, string][] = [
    [/req_01\w*…|(?<=requests show )ID\b/g, answer.headers.get('x-request-id') ?? ''],
    [/task_01\w*…/g, ((await task.json()) as { id: string }).id],
    [/ses_01\w*…/g, SESSION],
    [/AAAAA-BBBBB-CCCCC-DDDDD-EEEEE/g, redeemable.code],
    [/FFFFF-GGGGG-HHHHH-JJJJJ-KKKKK/g, revocable.code],
    [/http:\/\/127\.0\.0\.1:8080|https:\/\/ai\.example\.com/g, url],
    [/(?<=upstreams test )NAME\b/g, 'openai'],
    // The first of the database; a page shows a later one.
    [/(?<=statements show )12\b/g, '1'],
  ]

  const variables = { U: `${url}/v1`, BASE_URL: url, K: key, KEY: key, API_KEY: key, TOKEN: token }
  return {
    async run(script: string) {
      const filled = own.reduce((text, [pattern, value]) => text.replaceAll(pattern, value), script)
      const child = Bun.spawn(['bash', '-e', '-o', 'pipefail', '-c', filled], {
        cwd: folder,
        env: environment({
          ...variables,
          GATEWAY_DATA_DIR: dataDir,
          PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
        }),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const outputs = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      const code = await child.exited
      return { code, output: (await outputs).join('').slice(-600) }
    },
    async stop() {
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    },
  }
}

/** Writes the files that the pages name, and a `gateway` that runs the program under test. Events go to `receiver`. */
function writeFiles(vendors: Sandbox, receiver: string): void {
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content)
  write('gateway.config.ts', configuration(vendors, receiver))
  write('next.config.ts', configuration(vendors, receiver))
  copyFileSync(join(ROOT, 'prices/openai.json'), join(folder, 'openai.json'))
  write('gold.json', '{"priceFactor":"0.8"}')
  write('usage.csv', 'start_time_iso,model,num_model_requests,input_tokens,output_tokens\n')
  write('cost.csv', 'start_time_iso,line_item,amount_value\n')
  write('fox.png', picture('png', 64, 64).bytes)
  write('body.json', '{"model":"small","messages":[{"role":"user","content":"Hello!"}]}')
  // An error of the gateway is one of the command.
  write('.curlrc', 'fail-with-body\n')
  mkdirSync(join(folder, 'bin'))
  const program = PROGRAM.map((word) => `'${word}'`).join(' ')
  const cases = REPORTING.map((words) => `  '${words}'*) ${program} "$@" || [ $? = 1 ] ;;\n`).join('')
  // A command that follows is ended as by Ctrl-C.
  const ended = `  'requests tail'*) timeout --signal INT 2 ${program} "$@" || [ $? = 124 ] ;;\n`
  const shim = `#!/bin/bash\nexport BUN_JSC_useJIT=0\ncase "$*" in\n${cases}${ended}  *) exec ${program} "$@" ;;\nesac\n`
  writeFileSync(join(folder, 'bin', 'gateway'), shim, { mode: 0o755 })
}

/** The built-in catalogue and the settings that the pages have next to their commands, with simulated vendors. */
function configuration({ baseUrls, secrets }: Sandbox, receiver: string): string {
  const kinds = Object.keys(baseUrls) as (keyof typeof baseUrls)[]
  const upstreams = kinds.map((kind) => [
    kind,
    { kind, baseUrl: baseUrls[kind], apiKey: secrets[kind], ...(kind === 'openai' && { listed: true }) },
  ])
  const chat = { family: 'openai-chat', upstream: 'openai', upstreamModel: 'gpt-4.1-mini' }
  const price = { per_1m_input_tokens: '0.40', per_1m_output_tokens: '1.60' }
  return `export default ${JSON.stringify({
    extends: 'builtin',
    upstreams: Object.fromEntries(upstreams),
    models: {
      small: { ...chat, price },
      'small-chat': { ...chat, price },
      large: { ...chat, price },
      smart: { route: ['small', 'large'] },
      'llama3.2': { family: 'openai-chat', upstream: 'ollama', price },
    },
    plans: {
      team: { priceFactor: '0.9', budget: { usd: '500', per: 'month' } },
      gold: { priceFactor: '0.9' },
    },
    usage: { metadata: ['team', 'user'] },
    retention: { charges: '24mo' },
    server: { publicUrl: 'https://ai.example.com', mcpSignIn: true },
    console: { allowRemote: true },
    webhooks: { allow: ['127.0.0.0/8'] },
    events: { to: { ops: { webhook: receiver, secret: `whsec_${'A'.repeat(43)}=` } } },
    signIn: {
      company: {
        title: 'Example Inc',
        issuer: 'https://id.example.com/realms/main',
        clientId: 'gateway',
        groups: { support: { role: 'viewer' } },
      },
    },
  })}\n`
}

const SESSION = 'ses_of_a_viewer'

/** A charge of October 2024 and one of October 2026, and a session in the console. */
async function fillDatabase(): Promise<void> {
  const db = openSqlite(join(dataDir, 'gateway.sqlite'))
  for (const year of [2024, 2026]) {
    const at = Date.UTC(year, 9, 12, 9)
    const charge = makeCharge(50_000_000, { id: `charge-of-${year}`, model: 'small', createdAt: at })
    await hold(db, charge)
    await settle(db, charge, makeSettlement(40_000_000, { endedAt: at }))
  }
  const token = makeSessionToken(randomBytes)
  const times = { now: Date.now(), idleMs: 3_600_000, maxMs: 3_600_000, clientAddress: null, userAgent: null }
  await apply(
    db,
    openSession({ id: SESSION, token, kind: 'admin', subject: subjectOfRole('viewer'), ...times }),
  )
  await db.close()
}

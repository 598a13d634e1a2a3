// Every optional field of callers, on every built-in model and some configured ones, in three dialects, with whole and
// streamed answers. The recorded rules, which are independent of the gateway, and the simulated vendors judge what the
// gateway sends. A request must be sent in a form that the vendor accepts, or be refused here with 400 and the name of
// the field.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Sandbox, type SandboxCall, startSandbox } from '../../sandbox'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { casesOf, createRandom, isQuickRun, isWholeRun, type Random, seedOf } from '../support/random'
import { sweptModels } from './models'
import { type CallerRequest, dialectNames, requestsOf } from './requests'
import { forbiddenBy, readSent } from './rules'

const seed = seedOf('SWEEP_SEED')
/** The number of concurrent requests. */
const LANES = 24

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  gateway = await startTestGateway({ sandbox, models: sweptModels, balance: '1000000' })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** Fields of other vendors. A vendor that does not know them reports that itself. */
const FOREIGN_FIELDS = ['thinking', 'enable_thinking', 'reasoning', 'top_k', 'min_p', 'repetition_penalty']

const requests = dialectNames.flatMap(requestsOf)
/** The calls of each case, by the number of the case. */
const callsOf = new Map<string, SandboxCall[]>()
let cases = 0

test.each(Object.keys(sweptModels))(`%s (SWEEP_SEED=${seed})`, async (model) => {
  const random = createRandom(seed + Object.keys(sweptModels).indexOf(model))
  const chosen = requests.filter(isChosen(random)).values()
  /** Failures by fields and dialect, each with a count and the first example. */
  const failures = new Map<string, { times: number; first: string }>()
  const lane = async () => {
    for (const asked of chosen) {
      for (const fault of await faultsOf(model, asked)) {
        const kind = `${fault}: ${asked.dialect}, ${asked.fields.join(' with ')}`
        const { times, first } = failures.get(kind) ?? { times: 0, first: asked.label }
        failures.set(kind, { times: times + 1, first })
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  const shown = [...failures].map(([kind, { times, first }]) => `${kind} (${times} times: ${first})`)
  expect(shown.sort()).toEqual([])
})

/** Tries each option with a whole or a streamed answer, and a share of the pairs. The quick run tries fewer. */
function isChosen({ chance }: Random): (asked: CallerRequest) => boolean {
  const share = casesOf(requests.length) / 4 / requests.length
  let isNext = false
  return ({ isPair, body }) => {
    if (isWholeRun) return true
    if (isPair) return chance(share)
    if (body.stream !== true) isNext = chance(0.5)
    return isNext === (body.stream === true) && (!isQuickRun || chance(0.25))
  }
}

/** Returns the faults in the handling of a request. */
async function faultsOf(model: string, asked: CallerRequest): Promise<string[]> {
  const number = String(++cases)
  const text = JSON.stringify({ model, ...asked.body }).replace(/"(Where\?|Hello)/, `"Case ${number}. $1`)
  const response = await gateway.post(asked.path, text, asked.headers)
  const answer = await response.text()
  const calls = takeCalls(number)
  const broken = calls.flatMap((call) => forbiddenBy(sentIn(call), asked.body))
  if (broken.length > 0) return [...new Set(broken)]
  if (response.status === 200) return []
  const words = messageIn(answer)
  const [, unknown = ''] = /^Unknown parameter: '(\w+)'/.exec(words) ?? []
  if (FOREIGN_FIELDS.includes(unknown) && asked.fields.includes(unknown)) return []
  if (response.status !== 400 || calls.length > 0) return [`status ${response.status}, ${words}`]
  return namesField(answer, asked) ? [] : [`refused here without the field's name, ${words}`]
}

const messageIn = (answer: string): string =>
  /"message":"((?:[^"\\]|\\.)*)"/.exec(answer)?.[1] ?? answer.slice(0, 200)

/** Whether a refusal names a field of the request. */
const namesField = (answer: string, { body }: CallerRequest): boolean =>
  [...Object.keys(body), ...('output_config' in body ? ['effort'] : [])].some((field) =>
    answer.includes(`'${field}`),
  )

function sentIn({ vendor, path, headers, body }: SandboxCall) {
  return readSent(vendor, path, headers, body)
}

/** Returns the calls of a case, after sorting all received calls by case. */
function takeCalls(number: string): SandboxCall[] {
  for (const call of sandbox.calls.splice(0)) {
    const [, found = ''] = /Case (\d+)\./.exec(call.body) ?? []
    callsOf.set(found, [...(callsOf.get(found) ?? []), call])
  }
  const calls = callsOf.get(number) ?? []
  callsOf.delete(number)
  return calls
}

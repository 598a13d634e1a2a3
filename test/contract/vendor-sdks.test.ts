// The official SDK of each vendor as the judge of the gateway's requests: the SDK and the gateway send the same request to a
// recording vendor, and the two must be equal except for the differences that wanted-differences.ts lists with their reasons. Each
// SDK reads the simulator's answer too, and those that validate it accept it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { vendorCases, vendorModels } from '../support/vendors/cases'
import { VendorClients } from '../support/vendors/clients'
import {
  asSent,
  differencesOf,
  judge,
  type SentRequest,
  wantedDifferences,
} from '../support/vendors/wanted-differences'

setDefaultTimeout(120_000)

let sandbox: Sandbox
let gateway: TestGateway
let clients: VendorClients

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  gateway = await startTestGateway({
    sandbox,
    models: vendorModels,
    upstreams: {
      azure: { apiVersion: '2024-10-21' },
      bedrock: { region: 'eu-central-1' },
      ollama: { apiKey: null },
    },
  })
  clients = new VendorClients(sandbox, gateway)
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

const shown = new Set<number>()

describe('the vendor is called as by its own SDK', () => {
  for (const { name, vendor, direct, through, returns = {} } of vendorCases) {
    test(name, async () => {
      const [answer, byItself] = await requestsMadeBy(vendor, () => direct(clients))
      const [, byGateway] = await requestsMadeBy(vendor, () => through(clients))
      expect(answer).toMatchObject(returns)
      expect(byItself.length).toBeGreaterThan(0)
      expect(byGateway).toHaveLength(byItself.length)
      for (const [index, one] of byItself.entries()) {
        const { wanted, unwanted } = judge(name, differencesOf(one, byGateway[index] as SentRequest))
        for (const each of wanted) shown.add(each)
        expect(unwanted).toEqual({})
      }
    })
  }

  test('every wanted difference is one that a case shows', () => {
    expect(wantedDifferences.filter((_, index) => !shown.has(index))).toEqual([])
  })

  async function requestsMadeBy(
    vendor: VendorName,
    ask: () => Promise<unknown>,
  ): Promise<[unknown, SentRequest[]]> {
    const before = sandbox.calls.length
    const answer = await ask()
    const calls = sandbox.calls.slice(before)
    expect(calls.filter((call) => call.vendor !== vendor)).toEqual([])
    return [answer, calls.map(asSent)]
  }
})

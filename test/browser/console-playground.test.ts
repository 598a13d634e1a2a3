// The playground of the console in a real browser: a chat that calls tools whose results are entered by hand, pictures as
// input, and each kind of request with its price before it is sent, its cost after, and itself as programs that say the same.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { temporaryFolder } from '../support/databases/databases'
import { imageModel, startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

let gateway: TestGateway
let browser: Browser
let visit: Visit

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '10',
    models: {
      'test-chat': { inputModalities: ['image'] },
      'test-image': { ...imageModel, referenceImages: { min: 0, max: 3 } },
      'test-speech': {
        family: 'dashscope-speech',
        upstream: 'dashscope',
        upstreamModel: 'qwen3-tts-flash',
        price: { per_1m_characters: '10' },
      },
    },
    config: { artifacts: { keep: '1h' } },
  })
  browser = await openBrowser()
  visit = await visitConsole(browser, gateway, { token: gateway.secret })
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const answerText = async () => (await visit.page.locator('.answer').allInnerTexts()).join(' ')

/** Presses a button once the most that its request can cost stands beside it, and waits for the cost of the answer. */
async function pay(button: string): Promise<{ mostUsd: number; costUsd: number }> {
  const { page } = visit
  const form = page.locator('form', { has: page.getByRole('button', { name: button, exact: true }) })
  await form.getByText(/costs at most/).waitFor()
  const dollars = (text: string | null) => Number(/\$([\d.]+)/.exec(text ?? '')?.[1])
  const mostUsd = dollars(await form.getByRole('status').textContent())
  await page.getByRole('button', { name: button, exact: true }).click()
  const cost = page.locator('.answer .cost')
  await waitFor(async () => (await cost.count()) + (await page.locator('.failed').count()) > 0)
  return { mostUsd, costUsd: dollars(await cost.textContent()) }
}

/** A picture of one pixel, in a colour. */
const picture = (colour: string) => ({
  name: `${colour}.png`,
  mimeType: 'image/png',
  buffer: Buffer.from(PIXELS[colour] ?? '', 'base64'),
})
const PIXELS: Record<string, string> = {
  black: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
}

/** The request that a vendor was asked to pay for last. */
const lastCall = () => gateway.sandbox.calls.findLast(({ method }) => method === 'POST')

test('a chat calls a tool, its result is entered by hand, and both requests have a price before and a cost after', async () => {
  const { page, open, axe } = visit
  const tool = {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  }
  await open('playground?kind=chat&model=test-chat')
  await page.getByRole('textbox', { name: 'Message' }).fill('What is the weather? [sandbox tool]')
  await page.getByText('Tools', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Tools as JSON' }).fill('{')
  await page.getByText('The tools are no JSON').waitFor()
  // A single tool need not stand in a list.
  await page.getByRole('textbox', { name: 'Tools as JSON' }).fill(JSON.stringify(tool))
  const first = await pay('Send')
  expect(first.costUsd).toBeGreaterThan(0)
  expect(first.costUsd).toBeLessThanOrEqual(first.mostUsd)
  expect(await answerText()).toContain('Calls get_weather')
  await page.getByText('Enter each result').waitFor()
  expect(await page.getByRole('button', { name: 'Send the results' }).isDisabled()).toBe(true)
  await page.getByLabel('Result of get_weather').fill('{"sky":"clear & <b>cold</b>"}')
  // The programs show the request that comes next.
  await page.locator('.code', { hasText: '"role": "tool"' }).waitFor()
  expect(await axe()).toEqual([])
  const second = await pay('Send the results')
  expect(second.costUsd).toBeLessThanOrEqual(second.mostUsd)
  expect(await answerText()).toContain('clear & <b>cold</b>')
  expect(await page.locator('.turn').textContent()).toContain('clear & <b>cold</b>')
  expect(await axe()).toEqual([])
  const charges = await gateway.charges()
  expect(charges.map(({ amount }) => Number(amount) / 1e9)).toEqual([first.costUsd, second.costUsd])
  expect(visit.faults).toEqual([])
})

test('an answer is shown as it comes, and one that is stopped is paid as far as it had come', async () => {
  const { page, open } = visit
  await open('playground?kind=chat&model=test-chat')
  await page.getByLabel('Pictures').setInputFiles([])
  await page.getByRole('textbox', { name: 'Message' }).fill('[sandbox tokens=400 token_delay_ms=50] Count.')
  await page.getByText(/costs at most/).waitFor()
  const before = await gateway.charges()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const said = page.locator('.answer .said')
  // More comes while it runs.
  await waitFor(async () => ((await said.textContent({ timeout: 60_000 })) ?? '').length > 0)
  const first = ((await said.textContent()) ?? '').length
  await waitFor(async () => ((await said.textContent()) ?? '').length > first)
  expect(JSON.parse(lastCall()?.body ?? '').stream).toBe(true)
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('Stopped. What had come by then is paid.').waitFor()
  await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
  const [charge, ...more] = (await gateway.charges()).slice(before.length)
  expect(more).toEqual([])
  // 400 tokens would have cost 800,000 nano-dollars.
  expect(Number(charge?.amount)).toBeWithin(1, 400_000)
  expect(visit.faults).toEqual([])
})

test('pictures go with a chat and with a picture to be changed, and what is no picture is refused', async () => {
  const { page, open, axe } = visit
  await open('playground?kind=chat&model=test-local')
  expect(await page.getByLabel('Pictures').count()).toBe(0)
  await open('playground?kind=chat&model=test-chat')
  const files = page.getByLabel('Pictures')
  await files.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('text') })
  await page.getByText('Only pictures can be sent here.').waitFor()
  await files.setInputFiles(picture('black'))
  await page.getByRole('img', { name: 'Picture 1' }).waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('What is this?')
  await pay('Send')
  expect(JSON.parse(lastCall()?.body ?? '').messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS.black}` } },
      ],
    },
  ])
  expect(await axe()).toEqual([])
  await open('playground?kind=image&model=test-image')
  await page.getByLabel('Prompt').fill('Make it red')
  const { mostUsd, costUsd } = await pay('Send')
  expect(costUsd).toBe(mostUsd)
  expect(lastCall()?.body).toContain(PIXELS.black)
  expect(await page.locator('.answer img').count()).toBe(1)
  expect(visit.faults).toEqual([])
})

/** Each kind of request: what is written, what is shown, and what a program of it names. */
const kinds: { kind: string; field: string; text: string; shown: string; path: string }[] = [
  { kind: 'chat', field: 'Message', text: "It's fine", shown: '.said', path: '/v1/chat/completions' },
  { kind: 'image', field: 'Prompt', text: 'A cat', shown: 'img', path: '/v1/images/generations' },
  { kind: 'speech', field: 'Text', text: 'Hello', shown: 'audio', path: '/v1/audio/speech' },
  { kind: 'embeddings', field: 'Text', text: 'one', shown: 'pre', path: '/v1/embeddings' },
  {
    kind: 'video',
    field: 'Prompt',
    text: 'A cat [sandbox task_ms=0]',
    shown: 'video',
    path: '/v1/videos/generations',
  },
]

for (const { kind, field, text, shown, path } of kinds) {
  test(`${kind}: a price before, what it costs after, and the same call as curl, Python and TypeScript`, async () => {
    const { page, open } = visit
    await open(`playground?kind=${kind}`)
    if (await page.getByLabel('Pictures').count()) await page.getByLabel('Pictures').setInputFiles([])
    await page.getByRole('textbox', { name: field, exact: true }).fill(text)
    const before = await gateway.charges()
    const { mostUsd, costUsd } = await pay('Send')
    expect(await page.locator(`.answer ${shown}`).count()).toBe(1)
    const charge = await gateway.newestCharge()
    expect({ held: Number(charge?.held) / 1e9, paid: Number(charge?.amount) / 1e9 }).toEqual({
      held: mostUsd,
      paid: costUsd,
    })
    expect((await gateway.charges()).length).toBe(before.length + 1)
    const own = lastCall()
    const programs: Record<string, string> = {}
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await page.getByRole('button', { name: language, exact: true }).click()
      programs[language] = (await page.locator(`.code[aria-label="${language}"]`).textContent()) ?? ''
    }
    const { curl = '', Python: python = '', TypeScript: typescript = '' } = programs
    expect(Object.values(programs).join()).not.toContain(gateway.secret)
    expect(python).toContain(kind === 'video' ? path : 'OpenAI(')
    expect(typescript).toContain(kind === 'video' ? path : 'new OpenAI(')
    for (const program of [python, typescript]) expect(program).toContain(gateway.url)
    // As somebody runs it: what comes to the vendor is what came from the page.
    const folder = temporaryFolder()
    const run = Bun.spawn(['sh', '-c', curl.replace('curl ', 'curl -sf ').replace('sk-…', gateway.secret)], {
      cwd: folder,
      stdout: 'ignore',
    })
    expect(await run.exited).toBe(0)
    expect(lastCall()).not.toBe(own)
    expect(lastCall()?.path).toBe(own?.path as string)
    expect(JSON.parse(lastCall()?.body ?? '')).toEqual(JSON.parse(own?.body ?? ''))
  })
}

test('what was tried before is put back into the form as it was, and costs nothing until it is sent', async () => {
  const { page, open } = visit
  await open('playground?kind=chat&model=test-reasoning')
  const message = page.getByRole('textbox', { name: 'Message' })
  await message.fill('Once more, please')
  await page.getByRole('textbox', { name: 'Instructions' }).fill('Be brief')
  await pay('Send')
  const paid = (await gateway.charges()).length
  await open('playground?kind=embeddings')
  await page.getByRole('button', { name: 'Once more, please' }).click()
  await visit.settled()
  expect(page.url()).toContain('kind=chat&model=test-reasoning')
  expect([
    await message.inputValue(),
    await page.getByRole('textbox', { name: 'Instructions' }).inputValue(),
  ]).toEqual(['Once more, please', 'Be brief'])
  await page.getByText(/costs at most/).waitFor()
  expect((await gateway.charges()).length).toBe(paid)
})

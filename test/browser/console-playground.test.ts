// The console's playground in a real browser: conversations with turns, tools whose results are entered by hand,
// pictures as input, models side by side, and each kind of request with its price before it is sent, its cost
// afterwards, and equivalent programs.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { audioFile } from '../support/audio-files'
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
      'test-vendor-image': {
        family: 'dashscope-images',
        upstream: 'dashscope',
        upstreamModel: 'qwen-image-max',
        price: { per_image: '0.075' },
      },
      'test-ark-image': {
        family: 'ark-images',
        upstream: 'ark',
        upstreamModel: 'seedream-4-5-251128',
        price: { per_image: '0.04' },
      },
      'test-edit-image': {
        family: ['openai-images', 'openai-image-edits'],
        upstream: 'openai',
        upstreamModel: 'gpt-image-2',
        price: {
          per_1m_input_tokens: '5',
          per_1m_input_image_tokens: '8',
          per_1m_output_tokens: '10',
          per_1m_output_image_tokens: '30',
        },
      },
      'test-transcribe': {
        family: ['openai-transcriptions', 'openai-translations'],
        upstream: 'openai',
        upstreamModel: 'whisper-1',
        price: { per_audio_minute: '0.006' },
      },
      'test-rerank': {
        family: 'cohere-rerank',
        upstream: 'cohere',
        upstreamModel: 'rerank-v4.0-fast',
        price: { per_1k_searches: '2' },
      },
      'test-moderation': {
        family: 'openai-moderation',
        upstream: 'openai',
        upstreamModel: 'omni-moderation-latest',
        price: { per_request: '0.001' },
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

const answerText = async () => (await visit.page.locator('.reply').allInnerTexts()).join(' ')
const dollars = (text: string | null) => Number(/\$([\d.]+)/.exec(text ?? '')?.[1])

/** Opens the playground with an empty conversation. */
async function begin(query: string): Promise<void> {
  await visit.open('playground')
  await visit.page.getByRole('button', { name: 'New conversation' }).click()
  await visit.open(`playground?${query}`)
}

/** Presses a button once it shows the maximum price of its request, and waits for the cost of the last answer. */
async function pay(button = 'Send', replaces = 0): Promise<{ mostUsd: number; costUsd: number }> {
  const { page } = visit
  const form = page.locator('form', { has: page.getByRole('button', { name: button, exact: true }) })
  await form.getByText(/costs at most/).waitFor()
  const mostUsd = dollars(await form.getByRole('status').textContent())
  const before = (await page.locator('.reply').count()) - replaces
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.locator('.reply').nth(before).waitFor()
  await ended()
  return { mostUsd, costUsd: dollars(await page.locator('.reply .cost').last().textContent()) }
}

/** Waits until no answer is in progress. */
async function ended(): Promise<void> {
  await waitFor(async () => (await visit.page.locator('.reply[aria-busy="true"]').count()) === 0)
}

const message = () => visit.page.getByRole('textbox', { name: 'Message' })

/** Opens a panel next to the thread, which stays open when the conversation changes. */
async function openPart(title: string): Promise<void> {
  const part = visit.page.locator('.playground-part', {
    has: visit.page.locator('summary', { hasText: title }),
  })
  if (!(await part.evaluate((each) => (each as unknown as { open: boolean }).open)))
    await part.getByText(title, { exact: true }).click()
}

/** A picture with one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const picture = { name: 'black.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') }

/** The last request that was sent to a vendor. */
const lastCall = () => gateway.sandbox.calls.findLast(({ method }) => method === 'POST')
const lastBody = () => JSON.parse(lastCall()?.body ?? '')

const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}

for (const [api, label, path] of [
  ['', 'Chat completions', '/v1/chat/completions'],
  ['responses', 'Responses', '/v1/responses'],
  ['messages', 'Messages', '/v1/messages'],
] as const) {
  test(`${label}: a chat calls a tool, its result is entered by hand, and both requests show price and cost`, async () => {
    const { page, axe } = visit
    await begin('kind=chat&model=test-chat')
    await page.getByLabel('API').selectOption(api)
    await message().fill('What is the weather? [sandbox tool]')
    await page.getByText('Tools', { exact: true }).click()
    const tools = page.getByRole('textbox', { name: 'Tools as JSON' })
    await tools.fill('{')
    await page.getByText('The tools are not valid JSON').waitFor()
    // A single tool may be entered without a list.
    await tools.fill(JSON.stringify(tool))
    const before = (await gateway.charges()).length
    const first = await pay()
    expect(first.costUsd).toBeGreaterThan(0)
    expect(first.costUsd).toBeLessThanOrEqual(first.mostUsd)
    expect(await answerText()).toContain('Calls get_weather')
    await page.getByText('Enter each result').waitFor()
    expect(await page.getByRole('button', { name: 'Send the results' }).isDisabled()).toBe(true)
    await page.getByLabel('Result of get_weather').fill('{"sky":"clear & <b>cold</b>"}')
    expect(await axe()).toEqual([])
    const second = await pay('Send the results')
    expect(second.costUsd).toBeLessThanOrEqual(second.mostUsd)
    expect(await page.locator('.asked').last().textContent()).toContain('clear & <b>cold</b>')
    expect(JSON.stringify(lastBody())).toContain('clear & <b>cold</b>')
    expect(await answerText()).toContain('cold')
    await openPart('Code')
    expect(await page.locator('.playground-side .code').textContent()).toContain(path)
    expect(await axe()).toEqual([])
    const charges = (await gateway.charges()).slice(before)
    expect(charges.map(({ amount }) => Number(amount) / 1e9)).toEqual([first.costUsd, second.costUsd])
    expect(dollars(await page.locator('.playground-head [role="status"]').textContent())).toBeCloseTo(
      first.costUsd + second.costUsd,
      9,
    )
    expect(visit.faults).toEqual([])
  })
}

test('an answer is shown as it arrives, and a stopped one is charged for what has arrived', async () => {
  const { page } = visit
  await begin('kind=chat&model=test-chat')
  await message().fill('[sandbox tokens=400 token_delay_ms=50] Count.')
  await page.getByText(/costs at most/).waitFor()
  const before = await gateway.charges()
  await message().press('Control+Enter')
  const said = page.locator('.reply .prose')
  // More text arrives meanwhile.
  await waitFor(async () => ((await said.textContent({ timeout: 60_000 })) ?? '').length > 0)
  const first = ((await said.textContent()) ?? '').length
  await waitFor(async () => ((await said.textContent()) ?? '').length > first)
  expect(lastBody().stream).toBe(true)
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('Stopped. You pay for the part that arrived.').waitFor()
  await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
  const [charge, ...more] = (await gateway.charges()).slice(before.length)
  expect(more).toEqual([])
  // 400 tokens would have cost 800,000 nano-dollars.
  expect(Number(charge?.amount)).toBeWithin(1, 400_000)
  expect(visit.faults).toEqual([])
})

test('a request continues while another page is open, and a draft is kept', async () => {
  const { page, open } = visit
  await begin('kind=chat&model=test-chat')
  await message().fill('[sandbox tokens=40 token_delay_ms=50] Go on')
  await page.getByText(/costs at most/).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('.reply').waitFor()
  await message().fill('not sent yet')
  await open('connect')
  await open('playground')
  await ended()
  expect(await page.locator('.reply .cost').textContent()).toMatch(/cost \$0\.\d+/)
  expect(await message().inputValue()).toBe('not sent yet')
  expect(visit.faults).toEqual([])
})

test('a conversation continues, a turn is edited, and an answer is regenerated', async () => {
  const { page } = visit
  await begin('kind=chat&model=test-chat')
  await page.getByLabel('System prompt').fill('Be brief')
  await message().fill('First words')
  await pay()
  const figures = await page.locator('.reply .cost').textContent()
  expect(figures).toMatch(/first token \d.*total \d.*\d+ tokens/)
  await message().fill('Second words')
  await pay()
  const said = (body: { messages: { role: string; content: string }[] }) =>
    body.messages.map(({ role, content }) => `${role}: ${content.slice(0, 12)}`)
  expect(said(lastBody())).toEqual([
    'system: Be brief',
    'user: First words',
    expect.stringContaining('assistant: '),
    'user: Second words',
  ])
  const before = (await gateway.charges()).length
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await waitFor(async () => (await gateway.charges()).length === before + 1)
  await ended()
  expect([await page.locator('.turn').count(), said(lastBody()).at(-1)]).toEqual([2, 'user: Second words'])
  await page.getByRole('button', { name: 'Edit' }).first().click()
  expect(await message().inputValue()).toBe('First words')
  await page.getByText('Sending it removes what came after.').waitFor()
  await message().fill('Other words')
  await pay('Send', 2)
  expect(said(lastBody())).toEqual(['system: Be brief', 'user: Other words'])
  expect(await page.locator('.turn').count()).toBe(1)
  expect(visit.faults).toEqual([])
})

test('models answer side by side, each with its own price, time and thread', async () => {
  const { page, axe } = visit
  await begin('kind=chat&model=test-chat,test-reasoning')
  await message().fill('Compare')
  const before = (await gateway.charges()).length
  const { mostUsd } = await pay()
  const charges = (await gateway.charges()).slice(before)
  expect(charges.map(({ model }) => model).sort()).toEqual(['test-chat', 'test-reasoning'])
  const held = charges.reduce((sum, each) => sum + Number(each.held), 0)
  expect(mostUsd).toBeCloseTo(held / 1e9, 9)
  expect(await page.locator('.reply .cost').count()).toBe(2)
  const boxes = await page
    .locator('.reply')
    .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
  expect(boxes[0]).toBe(boxes[1] as number)
  expect(await axe()).toEqual([])
  await page.getByRole('button', { name: 'Remove test-reasoning' }).click()
  await page.getByRole('button', { name: 'Add a model to compare' }).click()
  expect(await page.locator('.chosen-model').count()).toBe(2)
  expect(visit.faults).toEqual([])
})

test('a model’s Markdown becomes elements, and never HTML, a loaded URL, or a script', async () => {
  const { page, axe } = visit
  await begin('kind=chat&model=test-chat')
  const text = [
    '# Heading',
    'Some **bold** and `code` <img src=x onerror=alert(1)> [bad](javascript:alert(2)) [good](https://example.com/a)',
    '![picture](https://tracker.example/pixel.png)',
    '- one\n- two',
    '| a | b |\n|---|--:|\n| x | 12 |',
    '```json\n{"a": 1}\n```',
  ].join('\n\n')
  await message().fill(text)
  await pay()
  const prose = page.locator('.reply .prose')
  for (const [part, shown] of [
    ['strong', 'bold'],
    ['li', 'one'],
    ['td.number', '12'],
    ['.code', '{"a": 1}'],
    ['.hljs-number', '1'],
  ] as const)
    await waitFor(async () => (await prose.locator(part).first().textContent()) === shown)
  expect(await prose.textContent()).toContain('<img src=x onerror=alert(1)>')
  expect(await prose.locator('img').count()).toBe(0)
  const links = await prose.locator('a').evaluateAll((all) => all.map((each) => each.getAttribute('href')))
  expect(links).toEqual(['https://example.com/a', 'https://tracker.example/pixel.png'])
  expect(await axe()).toEqual([])
  expect(visit.faults).toEqual([])
})

test('structured output follows a schema in each form of a chat', async () => {
  const { page } = visit
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
  for (const api of ['', 'responses', 'messages']) {
    await begin('kind=chat&model=test-chat')
    await page.getByLabel('API').selectOption(api)
    await page.getByText('Structured output', { exact: true }).click()
    await page.getByLabel('JSON schema').fill(JSON.stringify(schema))
    await message().fill('A city')
    await pay()
    expect(JSON.stringify(lastBody())).toContain(JSON.stringify(schema.properties))
    const shown = (await page.locator('.reply .code').textContent()) ?? ''
    expect(typeof JSON.parse(shown).city).toBe('string')
  }
  expect(visit.faults).toEqual([])
})

test('pictures are dropped, pasted or selected, can be removed, and stay with their kind of request', async () => {
  const { page, open, axe } = visit
  await begin('kind=chat&model=test-local')
  expect(await page.getByLabel('Pictures').count()).toBe(0)
  await begin('kind=chat&model=test-chat')
  const files = page.getByLabel('Pictures')
  await files.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('text') })
  await page.getByText('Only PNG, JPEG, WebP and GIF pictures').waitFor()
  await files.setInputFiles(picture)
  await page.getByRole('img', { name: 'Picture 1' }).waitFor()
  for (const type of ['drop', 'paste']) {
    await page.evaluate(`(() => {
      const data = new DataTransfer()
      const bytes = Uint8Array.from(atob('${PIXEL}'), (letter) => letter.charCodeAt(0))
      data.items.add(new File([bytes], '${type}.png', { type: 'image/png' }))
      const event = '${type}' === 'drop'
        ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
        : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
      document.querySelector('.composer textarea').dispatchEvent(event)
    })()`)
  }
  await page.getByRole('img', { name: 'Picture 3' }).waitFor()
  expect(await axe()).toEqual([])
  await page.getByRole('button', { name: 'Remove drop.png' }).click()
  await page.getByRole('button', { name: 'Remove paste.png' }).click()
  await message().fill('What is this?')
  await pay()
  expect(lastBody().messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ],
    },
  ])
  // Pictures selected for a chat are never sent with a request for a picture.
  await files.setInputFiles(picture)
  await page.getByRole('img', { name: 'Picture 1', exact: true }).waitFor()
  await page.getByLabel('Kind of work').selectOption('image')
  expect(await page.locator('.composer img').count()).toBe(0)
  await open('playground?kind=image&model=test-image')
  await page.getByLabel('Prompt').fill('Make it red')
  await pay()
  expect(lastCall()?.body).not.toContain(PIXEL)
  await page.getByLabel('Pictures').setInputFiles(picture)
  await page.getByLabel('Prompt').fill('Make it blue')
  const { mostUsd, costUsd } = await pay()
  expect(costUsd).toBe(mostUsd)
  expect(lastCall()?.body).toContain(PIXEL)
  expect(visit.faults).toEqual([])
})

test('a picture is edited with a mask, and the form shows its price before it is sent', async () => {
  const { page } = visit
  await begin('kind=image&model=test-edit-image')
  await page.getByLabel('Pictures').setInputFiles([picture, { ...picture, name: 'mask.png' }])
  await page.getByLabel('Mask').check()
  await page.getByLabel('Prompt').fill('Only here')
  const { mostUsd, costUsd } = await pay()
  expect(costUsd).toBeLessThanOrEqual(mostUsd)
  expect(lastCall()?.path).toEndWith('/images/edits')
  expect(lastCall()?.form?.map(([name]) => name)).toContain('mask')
  expect(await page.locator('.reply img').count()).toBe(1)
  expect(visit.faults).toEqual([])
})

test('each paid picture is shown in any vendor’s form, and an unreadable answer is shown as JSON', async () => {
  const { page } = visit
  await begin('kind=image&model=test-vendor-image')
  for (const count of [1, 2, 3, 4]) {
    await page.getByLabel('Prompt').fill(`A red fox ${count}`)
    expect((await pay()).costUsd).toBe(0.075)
    expect(await page.locator('.reply img').count()).toBe(count)
  }
  expect(await page.getByText('keeps this file at its own address').count()).toBe(0)
  await page.route('**/v1/images/generations', (route) =>
    route.fulfill({ json: { pages: [{ unknown: 'form' }] } }),
  )
  await page.getByLabel('Prompt').fill('Another form')
  await page.getByText(/costs at most/).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('The format of this answer is unknown.').waitFor()
  expect(await page.locator('.reply .code').last().textContent()).toContain('"unknown": "form"')
  await page.unroute('**/v1/images/generations')
  expect(visit.faults).toEqual([])
})

test('a vendor that could return a picture as a URL is asked for its bytes', async () => {
  const { page } = visit
  await begin('kind=image&model=test-ark-image')
  await page.getByLabel('Prompt').fill('A red fox')
  await pay()
  expect(lastBody().response_format).toBe('b64_json')
  expect(await page.locator('.reply img').count()).toBe(1)
  expect(visit.faults).toEqual([])
})

/** Each kind of request: what is typed, what is shown, and what its program contains. */
const kinds: { kind: string; model: string; text: string; shown: string; path: string; sdk?: false }[] = [
  { kind: 'chat', model: 'test-chat', text: "It's fine", shown: '.prose', path: '/v1/chat/completions' },
  { kind: 'image', model: 'test-image', text: 'A cat', shown: 'img', path: '/v1/images/generations' },
  { kind: 'speech', model: 'test-speech', text: 'Hello', shown: 'audio', path: '/v1/audio/speech' },
  { kind: 'embeddings', model: 'test-embedding', text: 'one\ntwo', shown: 'table', path: '/v1/embeddings' },
  {
    kind: 'video',
    model: 'vidw2.6-t2v',
    text: 'A cat [sandbox task_ms=0]',
    shown: 'video',
    path: '/v1/videos/generations',
    sdk: false,
  },
  { kind: 'rerank', model: 'test-rerank', text: 'sky', shown: '.scores', path: '/v1/rerank', sdk: false },
  {
    kind: 'moderation',
    model: 'test-moderation',
    text: 'I want to hurt them.',
    shown: '.scores',
    path: '/v1/moderations',
    sdk: false,
  },
]

for (const { kind, model, text, shown, path, sdk = true } of kinds) {
  test(`${kind}: its price, its cost afterwards, and the same call in curl, Python and TypeScript`, async () => {
    const { page } = visit
    await begin(`kind=${kind}&model=${model}`)
    if (kind === 'rerank') await page.getByLabel('Documents').fill('The sky is blue\nGrass is green')
    await page.locator('.composer textarea').fill(text)
    const before = await gateway.charges()
    const { mostUsd, costUsd } = await pay()
    expect(await page.locator(`.reply ${shown}`).count()).toBe(1)
    const charge = await gateway.newestCharge()
    expect({ held: Number(charge?.held) / 1e9, paid: Number(charge?.amount) / 1e9 }).toEqual({
      held: mostUsd,
      paid: costUsd,
    })
    if (kind === 'video') {
      // It can be played: its length is known, and no message says otherwise.
      const film = page.locator('.reply video')
      await waitFor(() => film.evaluate((each) => (each as unknown as { duration: number }).duration === 2))
    }
    expect((await gateway.charges()).length).toBe(before.length + 1)
    const own = lastCall()
    await openPart('Code')
    const programs: Record<string, string> = {}
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await page.getByRole('button', { name: language, exact: true }).click()
      programs[language] = (await page.locator(`.code[aria-label="${language}"]`).textContent()) ?? ''
    }
    const { curl = '', Python: python = '', TypeScript: typescript = '' } = programs
    expect(Object.values(programs).join()).not.toContain(gateway.secret)
    expect(python).toContain(sdk ? 'OpenAI(' : path)
    expect(typescript).toContain(sdk ? 'new OpenAI(' : path)
    for (const program of [python, typescript]) expect(program).toContain(gateway.url)
    // When the program is run, the vendor gets exactly the request of the page.
    const folder = temporaryFolder()
    const call = (command: string) =>
      Bun.spawn(['sh', '-c', command.replace('curl ', 'curl -sf ')], { cwd: folder, stdout: 'ignore' }).exited
    expect(await call(curl.replace('sk-YOUR-KEY', gateway.secret))).toBe(0)
    expect(lastCall()).not.toBe(own)
    expect(lastCall()?.path).toBe(own?.path as string)
    expect(lastBody()).toEqual(JSON.parse(own?.body ?? ''))
    // Unchanged, the program is refused but works: its placeholder key has only characters that every header accepts.
    expect(await call(curl)).toBe(22)
    expect(Object.values(programs).join()).toMatch(/^[\x20-\x7e\n]*$/)
  })
}

test('the program for a stream reads its chunks', async () => {
  const { page } = visit
  await begin('kind=chat&model=test-chat')
  await message().fill('Stream')
  await pay()
  await openPart('Code')
  await page.getByRole('button', { name: 'Python', exact: true }).click()
  const python = (await page.locator('.code[aria-label="Python"]').textContent()) ?? ''
  expect(python).toContain('"stream": True')
  expect(python).toContain('for event in reply:')
})

test('transcription: the price of a file follows its length before it is sent, and its text is shown', async () => {
  const { page, axe } = visit
  await begin('kind=transcription&model=test-transcribe')
  const sound = Buffer.from(await (await audioFile('wav', 3)).arrayBuffer())
  await page.getByLabel('Audio').setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer: sound })
  const { mostUsd, costUsd } = await pay()
  expect([mostUsd, costUsd]).toEqual([0.0003, 0.0003])
  expect((await page.locator('.reply .prose').textContent())?.length).toBeGreaterThan(3)
  expect(await axe()).toEqual([])
  expect(visit.faults).toEqual([])
})

/** In the page: the person refuses the microphone. */
const REFUSE = `void (navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('refused', 'NotAllowedError')))`
/** In the page: the person allows the microphone, and its stream can be observed. */
const WATCH = `void (navigator.mediaDevices.getUserMedia = async (wanted) =>
  window.heard = await MediaDevices.prototype.getUserMedia.call(navigator.mediaDevices, wanted))`
/** In the page: the person allows the microphone only when `allow` is called. */
const HOLD = `void (navigator.mediaDevices.getUserMedia = async (wanted) => {
  await new Promise((done) => window.allow = done)
  return window.heard = await MediaDevices.prototype.getUserMedia.call(navigator.mediaDevices, wanted)
})`
/** In the page: whether the microphone no longer records. */
const IS_RELEASED = `window.heard.getTracks().every(({ readyState }) => readyState === 'ended')`

test('transcription: the microphone is recorded, priced and transcribed; without it, the page says what to do', async () => {
  const { page, axe } = visit
  await begin('kind=transcription&model=test-transcribe')
  const record = page.getByRole('button', { name: 'Record', exact: true })
  await page.evaluate(REFUSE)
  await record.click()
  await page.getByRole('alert').getByText('No microphone is available.').waitFor()
  await page.evaluate(WATCH)
  await record.click()
  const stop = page.getByRole('button', { name: 'Stop recording' })
  await stop.waitFor()
  expect(await axe()).toEqual([])
  await stop.click()
  await page.locator('.composer audio[aria-label="Recording"]').waitFor()
  expect(await page.evaluate<boolean>(IS_RELEASED)).toBe(true)
  const { mostUsd, costUsd } = await pay()
  expect(costUsd).toBeGreaterThan(0)
  expect(costUsd).toBeLessThanOrEqual(mostUsd)
  const file = new Map(lastCall()?.form).get('file')
  expect(file).toBeDefined()
  expect((await page.locator('.reply .prose').textContent())?.length).toBeGreaterThan(3)
  expect(visit.faults).toEqual([])
})

test('transcription: leaving the page releases the microphone, even if it is allowed later', async () => {
  const { page, open } = visit
  const record = page.getByRole('button', { name: 'Record', exact: true })
  await begin('kind=transcription&model=test-transcribe')
  await page.evaluate(WATCH)
  await record.click()
  await page.getByRole('button', { name: 'Stop recording' }).waitFor()
  await open('connect')
  await waitFor(() => page.evaluate<boolean>(IS_RELEASED))
  await begin('kind=transcription&model=test-transcribe')
  await page.evaluate(`window.heard = undefined; ${HOLD}`)
  await record.click()
  await waitFor(() => page.evaluate<boolean>(`'allow' in window`))
  await open('connect')
  await page.evaluate('allow()')
  await waitFor(() => page.evaluate<boolean>(`window.heard !== undefined && ${IS_RELEASED}`))
  expect(visit.faults).toEqual([])
})

test('embeddings: the similarity of each pair of lines is the cosine of their vectors', async () => {
  const { page } = visit
  await begin('kind=embeddings&model=test-embedding')
  await page.getByRole('textbox', { name: 'Text' }).fill('one\ntwo\none')
  const answer = page.waitForResponse(/\/v1\/embeddings$/)
  await pay()
  const { data } = (await (await answer).json()) as { data: { embedding: number[] }[] }
  const cosine = (one: readonly number[], other: readonly number[]) => {
    const dot = (left: readonly number[], right: readonly number[]) =>
      left.reduce((sum, each, index) => sum + each * (right[index] ?? 0), 0)
    return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other))
  }
  const table = page.getByRole('table', { name: 'Cosine similarity of the lines' })
  const rows = await table.locator('tbody tr').all()
  const shown = await Promise.all(rows.map((row) => row.locator('td').allTextContents()))
  const vectors = data.map(({ embedding }) => embedding)
  expect(vectors).toHaveLength(3)
  expect(shown.map((row) => row.map(Number))).toEqual(
    vectors.map((one) => vectors.map((other) => expect.closeTo(cosine(one, other), 3))),
  )
  expect(await table.locator('tbody th').allTextContents()).toEqual(['1 one', '2 two', '3 one'])
  expect(visit.faults).toEqual([])
})

test('conversations are kept in this browser, opened again, exported and deleted', async () => {
  const { page, open } = visit
  await begin('kind=chat&model=test-reasoning')
  await page.getByLabel('System prompt').fill('Be brief')
  await message().fill('Keep this, please')
  await pay()
  const paid = (await gateway.charges()).length
  await page.reload()
  await visit.settled()
  await open('playground?kind=embeddings')
  await openPart('Conversations in this browser')
  const row = page.locator('.tried li', { hasText: 'Keep this, please' })
  await row.getByRole('button', { name: 'Keep this, please' }).click()
  expect(await page.locator('.asked').textContent()).toContain('Keep this, please')
  expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief')
  expect(await page.locator('.chosen-model select').inputValue()).toBe('test-reasoning')
  expect((await gateway.charges()).length).toBe(paid)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    row.getByRole('button', { name: 'Export' }).click(),
  ])
  const exported = await Bun.file(await download.path()).json()
  expect(exported.turns[0].text).toBe('Keep this, please')
  expect(JSON.stringify(exported)).not.toContain(gateway.secret)
  await row.getByRole('button', { name: 'Delete' }).click()
  await waitFor(async () => (await row.count()) === 0)
  await page.getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('Nothing yet. Conversations are kept only in this browser.').waitFor()
  expect(visit.faults).toEqual([])
})

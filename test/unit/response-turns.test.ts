// The input of a response as turns of a conversation: each item as documented, errors with the exact place, and random
// conversations, whose content and order are kept.

import { describe, expect, test } from 'bun:test'
import type { Turn } from '../../src/families/conversation/conversation'
import { readInput } from '../../src/families/dialects/responses/turns'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { GatewayError } from '../../src/lib/errors'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'

type Item = Record<string, unknown>

const read = (input: unknown, rest: Partial<ResponsesBody> = {}) =>
  readInput({ model: 'm', input: input as string, ...rest })

/** Turns in short form: `user: …`, `result c1: …`, `assistant: …`, `call c1: name(…)`. */
function reported(turns: readonly Turn[]): string[] {
  return turns.flatMap((turn) => {
    if (turn.side === 'system') return [`system: ${textOf(turn.parts)}`]
    if (turn.side === 'user') {
      return [
        ...turn.results.map(
          ({ call, parts, hasFailed }) => `${hasFailed ? 'failure' : 'result'} ${call.id}: ${textOf(parts)}`,
        ),
        ...(turn.parts.length > 0 ? [`user: ${textOf(turn.parts)}`] : []),
      ]
    }
    return turn.steps.map((step) => {
      if (step.kind === 'text') return `${step.isRefusal ? 'refusal' : 'assistant'}: ${step.text}`
      if (step.kind === 'reasoning') return `thought ${step.sealed}: ${step.text}`
      const { id, name, input } = step.call
      return `call ${id}: ${name}(${input})`
    })
  })
}

function textOf(parts: readonly { type: string; text?: string }[]): string {
  return parts.map((part) => part.text ?? `<${part.type}>`).join('|')
}

const user = (content: unknown): Item => ({ role: 'user', content })
const call = (id: string, more: Item = {}): Item => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: '{}',
  ...more,
})
const output = (id: string, text: unknown = 'fine', more: Item = {}): Item => ({
  type: 'function_call_output',
  call_id: id,
  output: text,
  ...more,
})

describe('an item', () => {
  test.each([
    ['a text', 'Hi', ['user: Hi']],
    ['a short message', [user('Hi')], ['user: Hi']],
    [
      'a full message',
      [{ type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hi' }] }],
      ['user: Hi'],
    ],
    ['messages in a row', [user('a'), user([]), user('b')], ['user: a|b']],
    [
      'an assistant’s text, parts and refusal',
      [
        user('Hi'),
        { role: 'assistant', content: 'a' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'b', annotations: [], logprobs: [] },
            { type: 'refusal', refusal: 'c' },
          ],
        },
      ],
      ['user: Hi', 'assistant: a', 'assistant: b\n\nc'],
    ],
    [
      'system and developer messages, at the beginning and later',
      [
        { role: 'system', content: 'a' },
        { role: 'developer', content: [{ type: 'input_text', text: 'b' }] },
        user('Hi'),
        { role: 'developer', content: 'c' },
      ],
      ['system: a', 'system: b', 'user: Hi', 'system: c'],
    ],
    [
      'all kinds of parts',
      [
        user([
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' },
          { type: 'input_file', file_url: 'https://example.com/a.pdf' },
          { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
        ]),
      ],
      ['user: a|<image>|<document>|<document>|<audio>'],
    ],
    [
      'reasoning with its visible part',
      [
        user('Hi'),
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [
            { type: 'summary_text', text: 'a' },
            { type: 'summary_text', text: 'b' },
          ],
          encrypted_content: 'x',
        },
        { type: 'reasoning', id: 'rs_2', summary: [], content: null },
      ],
      ['user: Hi', 'thought x: a\n\nb', 'thought undefined: '],
    ],
    [
      'a call and its output',
      [call('c1', { id: 'fc_1', status: 'completed' }), output('c1')],
      ['call c1: f({})', 'result c1: fine'],
    ],
    [
      'an output in parts',
      [
        call('c1'),
        output('c1', [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA' },
        ]),
      ],
      ['call c1: f({})', 'result c1: a|<image>'],
    ],
    [
      'a custom tool',
      [
        { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'raw "text"' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'fine' },
      ],
      ['call c1: patch({"input":"raw \\"text\\""})', 'result c1: fine'],
    ],
    [
      'a local shell call, whose output names the item',
      [
        {
          type: 'local_shell_call',
          id: 'lsh_1',
          call_id: 'c1',
          status: 'completed',
          action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: null },
        },
        { type: 'local_shell_call_output', id: 'lsh_1', output: 'a.ts' },
      ],
      ['call c1: local_shell({"command":["ls"],"env":{}})', 'result c1: a.ts'],
    ],
    [
      'a shell',
      [
        { type: 'shell_call', call_id: 'c1', action: { commands: ['ls'], max_output_length: null } },
        {
          type: 'shell_call_output',
          call_id: 'c1',
          output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
        },
      ],
      [
        'call c1: shell({"commands":["ls"]})',
        'result c1: [{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
      ],
    ],
    [
      'patches, applied and failed',
      [
        {
          type: 'apply_patch_call',
          call_id: 'c1',
          status: 'completed',
          operation: { type: 'delete_file', path: 'a' },
        },
        {
          type: 'apply_patch_call',
          call_id: 'c2',
          status: 'completed',
          operation: { type: 'delete_file', path: 'b' },
        },
        { type: 'apply_patch_call_output', call_id: 'c1', status: 'completed' },
        { type: 'apply_patch_call_output', call_id: 'c2', status: 'failed', output: 'no such file' },
      ],
      [
        'call c1: apply_patch({"type":"delete_file","path":"a"})',
        'call c2: apply_patch({"type":"delete_file","path":"b"})',
        'result c1: Done.',
        'failure c2: no such file',
      ],
    ],
    [
      'a tool search by the caller',
      [
        { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'mail' } },
        {
          type: 'tool_search_output',
          call_id: 'c1',
          tools: [
            { type: 'function', name: 'send' },
            { type: 'namespace', name: 'box', tools: [{ type: 'function', name: 'list' }] },
          ],
        },
      ],
      ['call c1: tool_search({"query":"mail"})', 'result c1: Tools that can be called now: send, box__list'],
    ],
    [
      'a tool search by the vendor',
      [
        user('Hi'),
        { type: 'tool_search_call', execution: 'server', call_id: null, arguments: {} },
        { type: 'tool_search_output', execution: 'server', call_id: null, tools: [] },
      ],
      ['user: Hi'],
    ],
    [
      'items of tools that a vendor ran, and of compaction',
      [
        user('Hi'),
        ...[
          'web_search_call',
          'file_search_call',
          'code_interpreter_call',
          'image_generation_call',
          'computer_call',
          'computer_call_output',
          'mcp_list_tools',
          'mcp_call',
          'mcp_approval_request',
          'mcp_approval_response',
          'program',
          'program_output',
          'compaction',
        ].map((type, index) => ({ type, id: `x_${index}`, call_id: 'none' })),
        { type: 'additional_tools', role: 'developer', tools: [] },
      ],
      ['user: Hi'],
    ],
  ])('%s', (_, input, turns) => {
    expect(reported(read(input).turns)).toEqual(turns)
  })

  test('configuration_update: the last one counts', () => {
    const { effort, format } = read([
      user('Hi'),
      { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'text' } } },
      { type: 'configuration_update', reasoning: { effort: 'high' } },
    ])
    expect({ effort, format }).toEqual({ effort: 'high', format: { type: 'text' } })
  })

  test('calls have the flat name of their tool, also if the tool is no longer listed', () => {
    const tools = [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }]
    const items = [call('c1', { namespace: 'n' }), output('c1')]
    expect(reported(read(items, { tools }).turns)[0]).toBe('call c1: n__f({})')
    expect(reported(read(items).turns)[0]).toBe('call c1: n__f({})')
    expect(reported(read([call('c1', { name: 'n__f' }), output('c1')], { tools }).turns)[0]).toBe(
      'call c1: n__f({})',
    )
  })
})

describe('folding', () => {
  test('a run of reasoning, message and calls is one turn, with the outputs in the order of the calls', () => {
    const { turns } = read([
      user('Hi'),
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      { role: 'assistant', content: 'I look.' },
      call('c1'),
      call('c2'),
      output('c2', 'two'),
      user('Hurry.'),
      output('c1', 'one'),
      user('Now.'),
    ])
    expect(turns.map(({ side }) => side)).toEqual(['user', 'assistant', 'user'])
    expect(reported(turns)).toEqual([
      'user: Hi',
      'thought x: ',
      'assistant: I look.',
      'call c1: f({})',
      'call c2: f({})',
      'result c1: one',
      'result c2: two',
      'user: Hurry.|Now.',
    ])
  })

  test('an item after an output is a separate turn', () => {
    const { turns } = read([call('c1'), output('c1'), call('c2'), output('c2')])
    expect(turns.map(({ side }) => side)).toEqual(['assistant', 'user', 'assistant', 'user'])
  })

  test('an output is moved directly after its call, whatever is in between', () => {
    const { turns } = read([call('c1'), { role: 'developer', content: 'Be quick.' }, output('c1')])
    expect(reported(turns)).toEqual(['call c1: f({})', 'result c1: fine', 'system: Be quick.'])
  })

  test('repeated ids of calls are made unique', () => {
    const { turns } = read([
      call('c'),
      output('c', '1'),
      call('c'),
      output('c', '2'),
      call('c_1'),
      output('c_1'),
    ])
    expect(reported(turns).filter((line) => line.startsWith('result'))).toEqual([
      'result c: 1',
      'result c_1: 2',
      'result c_1_1: fine',
    ])
  })
})

function refusalOf(input: unknown, rest: Partial<ResponsesBody> = {}): GatewayError {
  try {
    read(input, rest)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('invalid input is refused with its place:', () => {
  const missing = (place: string) => `Missing required parameter: '${place}'.`
  test.each([
    [
      'a call without arguments',
      [call('c', { arguments: undefined })],
      'input[0].arguments',
      missing('input[0].arguments'),
    ],
    ['a call with an object', [call('c', { arguments: {} })], 'input[0].arguments', 'expected a string'],
    ['a call without a name', [call('c', { name: undefined })], 'input[0].name', missing('input[0].name')],
    ['a call without an id', [call('c', { call_id: null })], 'input[0].call_id', missing('input[0].call_id')],
    [
      'a custom call without its text',
      [{ type: 'custom_tool_call', call_id: 'c', name: 'f' }],
      'input[0].input',
      missing('input[0].input'),
    ],
    [
      'a shell call without an action',
      [{ type: 'shell_call', call_id: 'c' }],
      'input[0].action',
      missing('input[0].action'),
    ],
    [
      'an output without a call',
      [user('Hi'), output('call_x')],
      'input',
      'No tool call found for function call output with call_id call_x.',
    ],
    [
      'an output before its call',
      [output('c'), call('c')],
      'input',
      'No tool call found for function call output with call_id c.',
    ],
    [
      'a custom output without a call',
      [{ type: 'custom_tool_call_output', call_id: 'c', output: '' }],
      'input',
      'No tool call found for custom tool call output with call_id c.',
    ],
    ['a second output', [call('c'), output('c'), output('c')], 'input', 'No tool call found'],
    [
      'a call without an output',
      [call('c'), user('Hi')],
      'input',
      'No tool output found for function call c.',
    ],
    ['no output', [call('c'), output('c', null)], 'input[1].output', missing('input[1].output')],
    [
      'an output without an id',
      [call('c'), { type: 'function_call_output', output: '' }],
      'input[1].call_id',
      missing('input[1].call_id'),
    ],
    ['an unknown type', [{ type: 'poem' }], 'input[0].type', ": 'poem'."],
    ['an unknown output', [{ type: 'poem_output' }], 'input[0].type', ": 'poem_output'."],
    ['a type that is not text', [{ type: 7 }], 'input[0].type', 'expected a string'],
    ['an item without a known field', [{}], 'input[0].type', missing('input[0].type')],
    [
      'an unknown role',
      [{ role: 'tool', content: '' }],
      'input[0].role',
      ": 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ],
    ['no role', [{ type: 'message', content: '' }], 'input[0].role', missing('input[0].role')],
    ['no content', [{ role: 'user' }], 'input[0].content', missing('input[0].content')],
    ['a content of another type', [user(7)], 'input[0].content', 'expected a string or an array of parts'],
    ['a part of chat', [user([{ type: 'text', text: 'a' }])], 'input[0].content[0].type', ": 'text'."],
    ['a part without a type', [user(['a'])], 'input[0].content[0].type', missing('input[0].content[0].type')],
    [
      'a text without text',
      [user([{ type: 'input_text' }])],
      'input[0].content[0].text',
      missing('input[0].content[0].text'),
    ],
    [
      'a picture without address',
      [user([{ type: 'input_image' }])],
      'input[0].content[0].image_url',
      missing('input[0].content[0].image_url'),
    ],
    [
      'a picture as in chat',
      [user([{ type: 'input_image', image_url: { url: 'a' } }])],
      'input[0].content[0].image_url',
      'expected a string',
    ],
    [
      'a file without data',
      [user([{ type: 'input_file', filename: 'a' }])],
      'input[0].content[0].file_data',
      missing('input[0].content[0].file_data'),
    ],
    [
      'audio without data',
      [user([{ type: 'input_audio' }])],
      'input[0].content[0].input_audio.data',
      missing('input[0].content[0].input_audio.data'),
    ],
    [
      'a picture of the assistant',
      [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'a' }] }],
      'input[0].content[0].type',
      ": 'input_image'.",
    ],
    [
      'an output part of another type',
      [call('c'), output('c', [{ type: 'poem' }])],
      'input[1].output[0].type',
      ": 'poem'.",
    ],
    [
      'a compaction before the end',
      [{ type: 'compaction_trigger' }, user('Hi')],
      'input[0]',
      'the last item',
    ],
    [
      'one id twice',
      [
        { ...user('a'), id: 'msg_1' },
        { ...user('b'), id: 'msg_1' },
      ],
      'input',
      'Duplicate item found with id msg_1.',
    ],
  ])('%s', (_, input, param, message) => {
    const error = refusalOf(input)
    expect({ status: error.status, param: error.param }).toEqual({ status: 400, param })
    expect(error.message).toContain(message)
  })

  test('a call whose namespace is unknown', () => {
    const tools = [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }]
    const { param, message } = refusalOf([call('c'), output('c')], { tools })
    expect(param).toBe('input[0].namespace')
    expect(message).toContain("Missing namespace for function_call 'f'")
  })

  test.each([{ type: 'item_reference', id: 'rs_1' }, { id: 'rs_1' }])(
    'an unresolved item reference',
    (item) => {
      const { status, message } = refusalOf([user('Hi'), item])
      expect(status).toBe(404)
      expect(message).toContain("Item with id 'rs_1' not found")
    },
  )

  test('ids that are empty, or an output that has the id of its call, are not duplicates', () => {
    read([
      { ...user('a'), id: '' },
      { ...user('b'), id: '' },
    ])
    read([call('c', { id: 'fc_1' }), output('c', 'fine', { id: 'fc_1' })])
  })
})

describe('random conversations', () => {
  const seed = seedOf('TURNS_SEED')

  test(`keep all content in order (TURNS_SEED=${seed})`, () => {
    for (let round = 0; round < casesOf(500); round++) {
      const random = createRandom(seed + round)
      const { items, said, results } = conversation(random)
      const { turns } = read(items)
      const about = `TURNS_SEED=${seed + round}`
      const lines = reported(turns)
      // The words of each role appear once, in order.
      expect(
        lines.filter((line) => !/^(result|user)/.test(line)),
        about,
      ).toEqual(said.filter((line) => !line.startsWith('user')))
      const words = lines
        .filter((line) => line.startsWith('user'))
        .flatMap((line) => line.slice(6).split('|'))
      expect(words, about).toEqual(
        said.filter((line) => line.startsWith('user')).map((line) => line.slice(6)),
      )
      expect(lines.filter((line) => line.startsWith('result')).length, about).toBe(results)
      // Calls of a turn are answered directly after it, in order, and roles always alternate.
      for (const [index, turn] of turns.entries()) {
        const next = turns[index + 1]
        if (turn.side === next?.side) expect(turn.side, about).toBe('system')
        if (turn.side !== 'assistant') continue
        const ids = turn.steps.flatMap((step) => (step.kind === 'call' ? [step.call.id] : []))
        const answered = next?.side === 'user' ? next.results.map(({ call }) => call.id) : []
        expect(answered, about).toEqual(ids)
      }
    }
  })

  test(`that are damaged cause an error with a place, never a crash (TURNS_SEED=${seed})`, () => {
    for (let round = 0; round < casesOf(3_000); round++) {
      const random = createRandom(seed + round)
      const { items } = conversation(random)
      const broken = mutated(items, random)
      try {
        read(broken)
      } catch (error) {
        if (!(error instanceof GatewayError)) throw new Error(`TURNS_SEED=${seed + round}: ${error}`)
        expect({ round, param: typeof error.param }).toEqual({ round, param: 'string' })
      }
    }
  })

  test('the results of a search are named once each time they are listed', () => {
    const inner = Array.from({ length: 2_000 }, (_, index) => ({ type: 'function', name: `f${index}` }))
    const tools = [{ type: 'namespace', name: 'n', tools: inner }]
    const found = [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f7' }] }]
    const items = Array.from({ length: 2_000 }, (_, index) => [
      { type: 'tool_search_call', call_id: `c${index}`, execution: 'client', arguments: {} },
      { type: 'tool_search_output', call_id: `c${index}`, tools: found },
    ]).flat()
    const { turns } = read(items, { tools })
    expect(JSON.stringify(turns).length).toBeLessThan(JSON.stringify(items).length * 3)
  })

  test('need time proportional to their length', () => {
    const items = Array.from({ length: 16_000 }, (_, index) => (index < 8_000 ? call('c') : output('c')))
    // Processor time, because other work may run on the machine.
    const before = process.cpuUsage()
    read([...items])
    read(Array.from({ length: 16_000 }, () => user('a')))
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000)
  })
})

/** Items in a valid order, with their content in the short form of `reported`. */
function conversation(random: Random) {
  const items: Item[] = []
  const said: string[] = []
  let open: string[] = []
  let results = 0
  let count = 0
  const answer = () => {
    const index = random.below(open.length)
    items.push(output(open.splice(index, 1)[0] as string, 'r'))
    results++
  }
  for (let steps = random.below(30); steps > 0; steps--) {
    const id = count++
    switch (random.below(6)) {
      case 0:
        items.push(user(`u${id}`))
        said.push(`user: u${id}`)
        break
      case 1:
        items.push({ role: 'assistant', content: [{ type: 'output_text', text: `a${id}` }] })
        said.push(`assistant: a${id}`)
        break
      case 2:
        items.push({ type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: `x${id}` })
        said.push(`thought x${id}: `)
        break
      case 3:
        items.push({ role: 'developer', content: `d${id}` })
        said.push(`system: d${id}`)
        break
      case 4:
        items.push(call(`c${id}`, { id: `fc_${id}` }))
        said.push(`call c${id}: f({})`)
        open.push(`c${id}`)
        break
      default:
        if (open.length > 0) answer()
    }
  }
  while (open.length > 0) answer()
  open = []
  return { items, said, results }
}

const ODD = [undefined, null, 7, '', 'x', [], [null], {}, { type: 'input_text' }, true]

function mutated(items: readonly Item[], random: Random): Item[] {
  return items.map((item) => {
    const keys = Object.keys(item)
    return random.chance(0.3) ? { ...item, [random.pick(keys)]: random.pick(ODD) } : item
  })
}

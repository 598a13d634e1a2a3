// The tools of a responses request as flat functions: each type as documented, names that are unique and within
// vendors' limits whatever callers write, and each form of `tool_choice`.

import { describe, expect, test } from 'bun:test'
import {
  CUSTOM_INPUT,
  callersChoice,
  type FlatTools,
  flatToolsOf,
  type ToolOrigin,
} from '../../src/families/dialects/responses/tools'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { GatewayError } from '../../src/lib/errors'
import { createRandom, type Random, seedOf } from '../support/random'

type Tool = { type: string; [field: string]: unknown }

const bodyOf = (tools: Tool[], rest: Partial<ResponsesBody> = {}): ResponsesBody => ({
  model: 'm',
  input: 'hello',
  tools,
  ...rest,
})
const flat = (...tools: Tool[]) => flatToolsOf(bodyOf(tools))
const namesOf = ({ list }: FlatTools) => list.map(({ name }) => name)

function refusalOf(action: () => unknown): Pick<GatewayError, 'status' | 'code' | 'param' | 'message'> {
  try {
    action()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

describe('a tool', () => {
  test('function: its description and schema, without fields that only its vendor knows', () => {
    const [tool] = flat({
      type: 'function',
      name: 'weather',
      description: 'Looks up.',
      parameters: schema,
      strict: true,
      allowed_callers: ['direct'],
      async: true,
      defer_loading: true,
      output_schema: {},
    }).list
    expect(tool).toEqual({
      name: 'weather',
      description: 'Looks up.',
      parameters: schema,
      isStrict: true,
      at: 'tools[0]',
      origin: { kind: 'function', name: 'weather' },
    })
  })

  test.each([
    [true, true],
    [false, false],
    [null, false],
    [undefined, false],
  ])('function: strict %p becomes %p', (strict, meant) => {
    expect(flat({ type: 'function', name: 'f', strict }).list[0]?.isStrict).toBe(meant)
  })

  test('function: missing parameters become an empty object', () => {
    for (const parameters of [undefined, null]) {
      expect(flat({ type: 'function', name: 'f', parameters }).list[0]?.parameters).toEqual({
        type: 'object',
        properties: {},
      })
    }
  })

  test('function: a client’s marker is removed from the schema, but a parameter of that name is kept', () => {
    const { list } = flat({
      type: 'function',
      name: 'f',
      parameters: {
        type: 'object',
        properties: {
          encrypted: true,
          key: { type: 'string', encrypted: true, enum: [{ encrypted: true }] },
        },
      },
    })
    expect(list[0]?.parameters).toEqual({
      type: 'object',
      properties: { encrypted: true, key: { type: 'string', enum: [{ encrypted: true }] } },
    })
  })

  test('custom: a function with one text, and its grammar in the description', () => {
    const [tool] = flat({
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    }).list
    expect(tool?.origin).toEqual({ kind: 'custom', name: 'apply_patch' })
    expect(tool?.parameters).toMatchObject({
      properties: { [CUSTOM_INPUT]: { type: 'string' } },
      required: [CUSTOM_INPUT],
    })
    expect(tool?.description).toStartWith('Edits files.\n\n')
    expect(tool?.description).toContain('Lark grammar exactly:\nstart: "x"')
    const [plain] = flat({ type: 'custom', name: 'note', format: { type: 'text' } }).list
    expect(plain?.description).toBeUndefined()
  })

  test('namespace: its tools have combined names, and the first has the namespace’s description', () => {
    const tools = flat({
      type: 'namespace',
      name: 'crm',
      description: 'Customers.',
      tools: [
        { type: 'function', name: 'find', description: 'Finds one.' },
        { type: 'custom', name: 'query' },
      ],
    })
    expect(namesOf(tools)).toEqual(['crm__find', 'crm__query'])
    expect(tools.list[0]?.description).toBe('About the tools crm: Customers.\n\nFinds one.')
    expect(tools.byFlatName('crm__query')?.origin).toEqual({
      kind: 'custom',
      name: 'query',
      namespace: 'crm',
    })
    expect(tools.flatNameOf({ kind: 'function', name: 'find', namespace: 'crm' })).toBe('crm__find')
  })

  test.each([
    ['tool_search', { execution: 'client', parameters: schema }, schema],
    ['local_shell', {}, { required: ['command'] }],
    ['shell', {}, { required: ['commands'] }],
    ['shell', { environment: { type: 'local' } }, { required: ['commands'] }],
    ['apply_patch', {}, { required: ['type', 'path'] }],
  ])('%s %j: becomes a function with its parameters', (type, fields, parameters) => {
    const [tool] = flat({ type, ...fields }).list
    expect(tool).toMatchObject({
      name: type,
      origin: { kind: type as ToolOrigin['kind'], name: type },
      parameters,
    })
  })

  test('shell: names the skills of its environment', () => {
    const skills = [{ name: 'pdf', description: 'Reads PDFs.', path: '/skills/pdf' }]
    const [tool] = flat({ type: 'shell', environment: { type: 'local', skills } }).list
    expect(tool?.description).toContain('- pdf (/skills/pdf): Reads PDFs.')
  })

  test.each([
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
    'image_generation',
    'tool_search',
  ])('%s: omitted', (type) => {
    expect(namesOf(flat({ type }, { type: 'function', name: 'f' }))).toEqual(['f'])
  })

  test.each([
    'file_search',
    'code_interpreter',
    'mcp',
    'computer',
    'computer_use_preview',
    'programmatic_tool_calling',
    'anything_else',
  ])('%s: refused with its place', (type) => {
    const { status, code, param } = refusalOf(() => flat({ type: 'function', name: 'f' }, { type }))
    expect({ status, code, param }).toEqual({
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools[1].type',
    })
  })

  test.each([
    [{ type: 'shell', environment: { type: 'container_auto' } }, 'tools[0].type'],
    [{ type: 'function' }, 'tools[0].name'],
    [{ type: 'custom', name: '' }, 'tools[0].name'],
    [{ type: 'function', name: 'f', parameters: [] }, 'tools[0].parameters'],
    [{ type: 'function', name: 'f', description: 7 }, 'tools[0].description'],
    [{ type: 'custom', name: 'c', format: { type: 'xml' } }, 'tools[0].format.type'],
    [{ type: 'custom', name: 'c', format: { type: 'grammar' } }, 'tools[0].format.definition'],
    [{ type: 'namespace', tools: [] }, 'tools[0].name'],
    [{ type: 'namespace', name: 'n' }, 'tools[0].tools'],
    [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }, 'tools[0].tools[0].type'],
    [{ type: 'namespace', name: 'n', tools: [null] }, 'tools[0].tools[0].type'],
  ])('%j is refused at %s', (tool, param) => {
    expect(refusalOf(() => flat(tool as Tool)).param).toBe(param)
  })

  test('added or found by a search in the input: listed like others, and the last one of a name counts', () => {
    const tools = flatToolsOf(
      bodyOf([{ type: 'function', name: 'a', description: 'old' }], {
        input: [
          { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'b' }] },
          { role: 'user', content: 'hi' },
          {
            type: 'tool_search_output',
            call_id: 'c',
            tools: [
              { type: 'function', name: 'a', description: 'new' },
              { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'c' }] },
            ],
          },
        ],
      }),
    )
    expect(namesOf(tools)).toEqual(['a', 'b', 'n__c'])
    expect(tools.list[0]?.description).toBe('new')
    const refused = bodyOf([], { input: [{ type: 'additional_tools', tools: [{ type: 'mcp' }] }] })
    expect(refusalOf(() => flatToolsOf(refused)).param).toBe('input[0].tools[0].type')
    const without = bodyOf([], { input: [{ type: 'additional_tools' }] })
    expect(refusalOf(() => flatToolsOf(without)).param).toBe('input[0].tools')
  })
})

describe('names', () => {
  test('are unique and within the limits whatever callers write, and each identifies its tool', () => {
    const seed = seedOf('TOOLS_SEED')
    for (let round = 0; round < 300; round++) {
      const random = createRandom(seed + round)
      const listed = Array.from({ length: 1 + random.below(12) }, () => randomTool(random))
      const tools = flatToolsOf(bodyOf(listed))
      const names = namesOf(tools)
      const about = `TOOLS_SEED=${seed + round}`
      expect(new Set(names).size, about).toBe(names.length)
      for (const tool of tools.list) {
        expect(tool.name, about).toMatch(/^[\w-]{1,64}$/)
        expect(tools.byFlatName(tool.name), about).toBe(tool)
        expect(tools.flatNameOf(tool.origin), about).toBe(tool.name)
      }
      // Exactly one tool for each name and namespace.
      const wanted = listed.flatMap((tool) =>
        tool.type === 'namespace'
          ? (tool.tools as Tool[]).map(({ name }) => JSON.stringify([tool.name, name]))
          : [JSON.stringify([tool.name])],
      )
      const got = tools.list.map(({ origin: { namespace, name } }) =>
        JSON.stringify(namespace === undefined ? [name] : [namespace, name]),
      )
      expect(new Set(got), about).toEqual(new Set(wanted))
      expect(got.length, about).toBe(new Set(wanted).size)
    }
  })

  test('thousands of names that collide cost no more than others', () => {
    const letters = '.,:;!?/()[]{}<>+*#~^'
    const listed = Array.from({ length: 8_000 }, (_, index) => ({
      type: 'function',
      name: [...index.toString(20)]
        .map((digit) => letters[Number.parseInt(digit, 20)])
        .join('')
        .padStart(6, '.'),
    }))
    expect(flat(...listed).list.length).toBeGreaterThan(7_000)
  })
})

function randomTool(random: Random): Tool {
  const name = () =>
    random.pick(['a', 'b', 'a__b', 'a.b', 'a/b', 'ä', 'x'.repeat(70), `${'x'.repeat(69)}y`, '__proto__'])
  const called = () => ({ type: random.pick(['function', 'custom']), name: name() })
  if (random.chance(0.6)) return called()
  return { type: 'namespace', name: name(), tools: Array.from({ length: random.below(4) }, called) }
}

describe('tool_choice', () => {
  const tools: Tool[] = [
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'c' },
    { type: 'shell' },
    { type: 'web_search' },
    {
      type: 'namespace',
      name: 'n',
      tools: [
        { type: 'function', name: 'g' },
        { type: 'function', name: 'h' },
      ],
    },
  ]
  const chosen = (choice: unknown): unknown[] => {
    const { mode, allowed } = callersChoice(bodyOf(tools, { tool_choice: choice as string })) ?? {}
    return [mode, allowed]
  }

  test.each([
    [undefined, [undefined, undefined]],
    [null, [undefined, undefined]],
    ['none', ['none', undefined]],
    ['auto', ['auto', undefined]],
    ['required', ['required', undefined]],
    [{ type: 'function', name: 'f' }, ['required', ['f']]],
    [{ type: 'function', name: 'g', namespace: 'n' }, ['required', ['n__g']]],
    [{ type: 'function', name: 'n__h' }, ['required', ['n__h']]],
    [{ type: 'custom', name: 'c' }, ['required', ['c']]],
    [{ type: 'shell' }, ['required', ['shell']]],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] }, ['auto', ['f']]],
    [
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'namespace', name: 'n' }, { type: 'web_search' }],
      },
      ['required', ['n__g', 'n__h']],
    ],
  ])('%j', (choice, meant) => {
    expect(chosen(choice)).toEqual(meant)
  })

  test.each([
    ['any', 'tool_choice'],
    [{ type: 'function', name: 'x' }, 'tool_choice'],
    [{ type: 'function', name: 'c' }, 'tool_choice'],
    [{ type: 'function' }, 'tool_choice.name'],
    [{}, 'tool_choice.type'],
    [{ type: 'web_search' }, 'tool_choice'],
    [{ type: 'web_search_preview' }, 'tool_choice'],
    [{ type: 'file_search' }, 'tool_choice.type'],
    [{ type: 'image_generation' }, 'tool_choice'],
    [{ type: 'code_interpreter' }, 'tool_choice.type'],
    [{ type: 'local_shell' }, 'tool_choice'],
    [{ type: 'allowed_tools', mode: 'auto' }, 'tool_choice.tools'],
    [{ type: 'allowed_tools', mode: 'some', tools: [] }, 'tool_choice.mode'],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp' }] }, 'tool_choice.tools[0].type'],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'x' }] },
      'tool_choice.tools[0]',
    ],
  ])('%j is refused at %s', (choice, param) => {
    const { status, param: named } = refusalOf(() => chosen(choice))
    expect([status, named]).toEqual([400, param])
  })

  test('a namespace named thousands of times costs no more than one named once', () => {
    const inner = Array.from({ length: 5_000 }, (_, index) => ({ type: 'function', name: `f${index}` }))
    const body = bodyOf([{ type: 'namespace', name: 'n', tools: inner }], {
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: Array.from({ length: 20_000 }, () => ({ type: 'namespace', name: 'n' })),
      },
    })
    expect(callersChoice(body)?.allowed).toHaveLength(5_000)
  })
})

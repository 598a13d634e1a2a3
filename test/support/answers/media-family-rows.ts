// The rows of families of pictures and videos, for the conformance test: see family-rows.ts. A new family needs a row here.

import type { FamilyRow } from './family-rows'

const tokens = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '3' }
const imageTokens = { ...tokens, per_1m_input_image_tokens: '2', per_1m_output_image_tokens: '30' }
const sizes = { '256x256': '0.016', '512x512': '0.018', '1024x1024': '0.02' }
/** Whole files and their names arrive; a form has no nulls. */
const gptRefused: FamilyRow['refused'] = [
  ['prompt', undefined],
  ['prompt', ''],
  ['n', 11],
  ['n', 'two'],
  ['quality', 'ultra'],
  ['output_format', 'gif'],
  ['output_compression', 101],
  ['background', 'blue'],
  ['response_format', 'file'],
  ['stream', 'maybe'],
  ['partial_images', 4],
]

/** Models whose vendor has another format: every field is converted, and the answer is a list of pictures. */
const inOpenaiForm = {
  translated: ['**'],
  answered: ['**'],
  refused: [
    ['prompt', undefined],
    ['prompt', ''],
    ['n', 11],
    ['n', 'two'],
    ['size', '9999x100'],
    ['size', 'huge'],
    ['quality', 'ultra'],
    ['response_format', 'file'],
    ['output_format', 'gif'],
    ['background', 'transparent'],
    ['stream', true],
    ['partial_images', 2],
    ['style', 'natural'],
    ['aspect_of_nothing', '16:9'],
  ],
} satisfies Partial<FamilyRow>
const editInOpenaiForm = {
  ...inOpenaiForm,
  refused: [
    ...inOpenaiForm.refused.filter(([name]) => name !== 'stream'),
    ['stream', 'true'],
    ['image', 'https://example.com/fox.png'],
    ['mask', 'none'],
  ],
} satisfies Partial<FamilyRow>

export const mediaFamilyRows: Record<string, FamilyRow> = {
  'dashscope-images': {
    kind: 'dashscope',
    dialect: 'flat',
    model: {
      upstreamModel: 'qwen-image-2.0',
      referenceImages: { min: 0, max: 3 },
      price: { per_image: '0.035', per_request: '0.001' },
    },
    refused: [
      ['input', undefined],
      ['input', 'A red fox'],
      ['input/messages', [], 'input.messages'],
      ['input/messages/0/role', 'system', 'input.messages[0].role'],
      ['input/messages/0/content', 'A red fox', 'input.messages[0].content'],
      ['input/messages/0/content/0/text', 7, 'input.messages[0].content[0].text'],
      ['input/messages/0/content/0', {}, 'input.messages[0].content[0]'],
      ['parameters', []],
      ['parameters/size', '1024x1024', 'parameters.size'],
      ['parameters/n', 2, 'parameters.n'],
      ['parameters/seed', '42', 'parameters.seed'],
      ['parameters/watermark', 'no', 'parameters.watermark'],
    ],
  },
  'ark-images': {
    kind: 'ark',
    model: { upstreamModel: 'seedream-4-5-251128', price: { per_image: '0.04' } },
    refused: [
      ['prompt', undefined],
      ['prompt', ['A tree']],
      ['image', { url: 'https://example.com/tree.png' }],
      ['image', ['tree.png'], 'image[0]'],
      ['size', 1024],
      ['n', 11],
      ['sequential_image_generation', true],
      ['sequential_image_generation_options', 4],
      [
        'sequential_image_generation_options/max_images',
        16,
        'sequential_image_generation_options.max_images',
      ],
      ['response_format', 'png'],
      ['watermark', 'no'],
      ['stream', 1],
    ],
  },
  'xai-images': {
    kind: 'xai',
    model: {
      upstreamModel: 'grok-imagine-image',
      price: { per_image: { '1k': '0.02', '2k': '0.07' }, per_input_image: '0.002' },
    },
    // A size becomes a ratio and a resolution; the quality is the only one of this model; references get their type.
    translated: ['size', 'quality'],
    // The answer is the list that SDKs read, without withheld pictures.
    answered: ['data/1/**', 'data/2/**', 'usage/**'],
    refused: [
      ['prompt', undefined],
      ['prompt', 7],
      ['n', 11],
      ['size', '1024'],
      ['size', '9999x100'],
      ['quality', 'ultra'],
      ['resolution', '8k'],
      ['image', 'https://example.com/cat.jpg'],
      ['image', {}, 'image.url'],
      ['images', ['https://example.com/cat.jpg'], 'images[0]'],
      ['response_format', 'png'],
    ],
  },
  'gemini-images': {
    kind: 'google',
    model: { upstreamModel: 'gemini-3.1-flash-image', price: imageTokens },
    refused: [
      ['input', undefined],
      ['input', ''],
      ['input', 7],
      ['stream', 'yes'],
      ['generation_config', 'low'],
      ['generation_config/max_output_tokens', 0, 'generation_config.max_output_tokens'],
      ['background', true],
      ['agent', 'deep-research'],
      ['tools', {}],
    ],
  },
  'openai-images': {
    kind: 'openai',
    model: { upstreamModel: 'gpt-image-2', price: imageTokens },
    // Quality names of older models, and a field that these models refuse.
    translated: ['quality', 'response_format'],
    refused: [...gptRefused, ['size', '1000x1000'], ['size', 1024]],
  },
  'openai-image-edits': {
    kind: 'openai',
    model: { upstreamModel: 'gpt-image-1', referenceImages: { min: 1, max: 16 }, price: imageTokens },
    translated: ['quality', 'response_format'],
    refused: [...gptRefused, ['size', '512x512'], ['image', 'https://example.com/fox.png']],
  },
  'dalle-images': {
    kind: 'openai',
    model: { upstreamModel: 'dall-e-2', price: { per_image: sizes } },
    // The model has one quality, and no field for it.
    translated: ['quality'],
    refused: [
      ['prompt', undefined],
      ['n', 0],
      ['size', '1536x1024'],
      ['output_format', 'webp'],
      ['background', 'transparent'],
      ['stream', true],
      ['response_format', 'png'],
    ],
  },
  'dalle-image-edits': {
    kind: 'openai',
    model: { upstreamModel: 'dall-e-2', price: { per_image: sizes } },
    refused: [
      ['prompt', ''],
      ['n', 11],
      ['size', '1024x1536'],
      ['image', 'https://example.com/fox.png'],
      ['mask', 'none'],
      ['background', 'opaque'],
    ],
  },
  'openai-images-on-dashscope': {
    kind: 'dashscope',
    model: { upstreamModel: 'qwen-image-2.0', price: { per_image: '0.035' } },
    ...inOpenaiForm,
  },
  'openai-images-on-ark': {
    kind: 'ark',
    model: { upstreamModel: 'seedream-4-5-251128', price: { per_image: '0.04' } },
    ...inOpenaiForm,
    refused: inOpenaiForm.refused.filter(([name]) => name !== 'size'),
  },
  'openai-images-on-gemini': {
    kind: 'google',
    model: { upstreamModel: 'gemini-3.1-flash-image', price: imageTokens },
    ...inOpenaiForm,
  },
  'openai-image-edits-on-dashscope': {
    kind: 'dashscope',
    model: {
      upstreamModel: 'qwen-image-edit-plus',
      referenceImages: { min: 1, max: 3 },
      price: { per_image: '0.03' },
    },
    ...editInOpenaiForm,
  },
  'openai-image-edits-on-ark': {
    kind: 'ark',
    model: { upstreamModel: 'seedream-4-5-251128', price: { per_image: '0.04' } },
    ...editInOpenaiForm,
    refused: editInOpenaiForm.refused.filter(([name]) => name !== 'size'),
  },
  'openai-image-edits-on-gemini': {
    kind: 'google',
    model: { upstreamModel: 'gemini-3.1-flash-image', price: imageTokens },
    ...editInOpenaiForm,
  },
  'openai-image-edits-on-xai': {
    kind: 'xai',
    model: {
      upstreamModel: 'grok-imagine-image',
      price: { per_image: { '1k': '0.02', '2k': '0.07' }, per_input_image: '0.002' },
    },
    ...editInOpenaiForm,
  },
  'dashscope-video': {
    kind: 'dashscope',
    model: {
      upstreamModel: 'wan2.7-t2v',
      durations: { min: 2, max: 15, default: 5, vendorMayChoose: true },
      price: { per_second: { '720p': '0.1', '1080p': '0.15' } },
    },
    // Members for billing and for the gateway.
    translated: ['duration', 'resolution', 'aspect_ratio', 'wait'],
    refused: [
      ['input', undefined],
      ['input', 'A cat'],
      ['parameters', []],
      ['duration', '5'],
      ['duration', 40],
      ['resolution', 720],
      ['parameters/duration', 10, 'parameters.duration'],
      ['parameters/resolution', '1080P', 'parameters.resolution'],
      ['webhook_url', 7],
      ['wait', 'long'],
    ],
  },
  'xai-video': {
    kind: 'xai',
    model: {
      upstreamModel: 'grok-imagine-video',
      durations: { min: 1, max: 15, default: 8 },
      referenceImages: { min: 0, max: 7 },
      price: { per_second: { '480p': '0.05', '720p': '0.07' } },
    },
    translated: ['wait'],
    // Its status has the gateway's names.
    answered: ['status', 'usage/cost_in_usd_ticks'],
    refused: [
      ['prompt', 7],
      ['duration', 0],
      ['duration', 16],
      ['resolution', '4k'],
      ['image', 'https://example.com/boat.jpg'],
      ['image', {}],
      ['reference_images', 'x'],
    ],
  },
  'runway-video': {
    kind: 'runway',
    model: {
      upstreamModel: 'seedance2_5',
      durations: { min: 4, max: 30, default: 5, vendorMayChoose: true },
      referenceImages: { min: 0, max: 9 },
      price: {
        per_second: { '720p': '0.3', '480p': '0.2' },
        per_input_second: { '720p': '0.15', '480p': '0.1' },
      },
    },
    translated: ['wait'],
    // Its id, state and time are those of the gateway, and its cost is only for the operator.
    answered: ['id', 'status', 'cost/**'],
    refused: [
      ['promptText', 7],
      ['promptText', ''],
      ['duration', 3],
      ['duration', '5'],
      ['duration', 31],
      ['ratio', '1920:1080'],
      ['ratio', '16:9'],
      ['resolution', '720p'],
      ['references', 'x'],
      ['references', [{ uri: 7 }], 'references[0].uri'],
      ['mode', 'edit'],
      ['outputFormat', 'prores'],
    ],
  },
  'minimax-video': {
    kind: 'minimax',
    model: {
      upstreamModel: 'MiniMax-H3',
      durations: { min: 4, max: 15, default: 5 },
      referenceImages: { min: 0, max: 9 },
      price: { per_second: { '768p': '0.08', '2k': '0.13' } },
    },
    translated: ['wait'],
    // Its id, state and times are those of the gateway, and tokens are not billed.
    answered: ['task/**'],
    refused: [
      ['content', undefined],
      ['content', []],
      ['content', [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]],
      ['content/0/text', 7, 'content[0].text'],
      ['duration', 3],
      ['duration', 5.5],
      ['duration', '5'],
      ['resolution', '1080P'],
      ['callback_url', 'https://example.com/hook'],
    ],
  },
  'hailuo-video': {
    kind: 'minimax',
    model: {
      upstreamModel: 'MiniMax-Hailuo-02',
      durations: { min: 6, max: 10, default: 6 },
      referenceImages: { min: 0, max: 2 },
      price: { per_video: { '768p 6s': '0.28', '768p 10s': '0.56', '1080p 6s': '0.49' } },
    },
    translated: ['wait'],
    // The answer to the call for its file, whose address stays.
    answered: ['base_resp/**', 'file/**'],
    refused: [
      ['prompt', 7],
      ['prompt', ''],
      ['first_frame_image', ['https://example.com/a.png']],
      ['duration', 5],
      ['duration', 7],
      ['duration', '6'],
      ['resolution', '4K'],
      ['callback_url', 'https://example.com/hook'],
    ],
  },
  'gemini-video': {
    kind: 'google',
    model: {
      upstreamModel: 'gemini-omni-1.2-flash',
      durations: { min: 3, max: 15, default: 8 },
      referenceImages: { min: 0, max: 6 },
      price: {
        per_1m_input_tokens: '1.5',
        per_1m_output_tokens: '9',
        per_1m_output_video_tokens: '12',
      },
    },
    translated: ['wait'],
    // Its id, state and times are those of the gateway, and only the video of its steps is shown.
    answered: ['id', 'object', 'status', 'created', 'updated', 'steps/**', 'x_unknown/**'],
    refused: [
      ['input', undefined],
      ['input', []],
      ['input', [{ text: 'x' }], 'input[0].type'],
      ['response_format/type', 'image', 'response_format.type'],
      ['response_format/duration', '2s', 'response_format.duration'],
      ['response_format/duration', 5, 'response_format.duration'],
      ['response_format/resolution', '8k', 'response_format.resolution'],
      ['background', false],
      ['stream', true],
    ],
  },
  'fal-video': {
    kind: 'fal',
    model: {
      upstreamModel: 'fal-ai/wan/v2.7/reference-to-video',
      durations: { min: 2, max: 15, default: 5 },
      referenceImages: { min: 0, max: 9 },
      price: { per_second: { '720p': '0.1', '1080p': '0.15' } },
    },
    translated: ['wait'],
    refused: [
      ['prompt', 7],
      ['prompt', ''],
      ['duration', '1'],
      ['duration', 16],
      ['duration', 'auto'],
      ['duration', '5 s'],
      ['resolution', '4k'],
      ['reference_image_urls', 'x'],
      ['reference_image_urls', Array(10).fill('https://example.com/a.png')],
      ['multi_prompt', [{ prompt: 'x', duration: '4' }]],
    ],
  },
  'ark-video': {
    kind: 'ark',
    model: {
      upstreamModel: 'seedance-2-0-260128',
      durations: { min: 4, max: 15, default: 5, vendorMayChoose: true },
      referenceImages: { min: 0, max: 9 },
      price: { per_second: { '480p': '0.05', '720p': '0.1' } },
    },
    translated: ['wait'],
    // Its id and its time are those of the gateway, and only a task that failed has an error.
    answered: ['id', 'created_at', 'error'],
    refused: [
      ['content', undefined],
      ['content', []],
      ['content/0/type', 7, 'content[0].type'],
      ['duration', 3],
      ['duration', 5.5],
      ['resolution', '4k'],
      ['seed', -2],
      ['draft', 'yes'],
      ['callback_url', 'https://example.com'],
    ],
  },
}

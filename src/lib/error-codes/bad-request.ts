// The codes of errors with status 400: what each means, and what helps. ../error-codes.ts has all others.

/** Whether a repeat helps, if the status of an error suggests otherwise. */
export type Repeat = 'yes' | 'no' | 'as `x-should-retry` says'
/** A code, with the command that shows its reason. */
export type CodeRow = readonly [meaning: string, cure: string, look?: string | undefined, repeat?: Repeat]

export const badRequestCodes = {
  body_too_complex: ['The body has more values or fields than allowed.', 'Send less in one request.'],
  body_unreadable: [
    'The body ended early, or is not encoded as its headers say.',
    'Send it again; a proxy may have cut it off.',
  ],
  content_policy_violation: [
    'The vendor refuses this content.',
    'Change the prompt or the picture. A video refused this way is free.',
  ],
  conversation_too_long: [
    'A kept conversation has more items or bytes than allowed.',
    'Start a new one with a summary.',
  ],
  decimal_above_max_value: ['A number is too large.', 'Stay within the limit in the message.'],
  decimal_below_min_value: ['A number is too small.', 'Stay within the limit in the message.'],
  duplicate_field: ['A field appears twice in the body or the form.', 'Send it once.'],
  duplicate_item: ['An item is already in the conversation.', 'Send only new items.'],
  empty_array: ['A list is empty.', 'Send at least one item.'],
  empty_file: ['A file is empty.', 'Check the path used by the client.'],
  empty_string: ['A text is empty.', 'Send at least one character.'],
  endpoint_model_mismatch: [
    'The model serves another endpoint.',
    'Use the path in the message.',
    'gateway models list',
  ],
  integer_above_max_value: ['A whole number is too large.', 'Stay within the limit in the message.'],
  integer_below_min_value: ['A whole number is too small.', 'Stay within the limit in the message.'],
  invalid_form: ['The form is not valid multipart/form-data.', 'Use a library to write it.'],
  invalid_encrypted_content: [
    'Sealed content was altered, or is a summary of another account or gateway.',
    'Send it unchanged, or leave the item out and send the conversation itself.',
  ],
  invalid_json: ['The body is not valid JSON.', 'Use a library to write it.'],
  invalid_host: [
    'The header `Host` is not a single name or address.',
    'Check the proxy in front of the gateway.',
  ],
  invalid_mask: ['The mask does not fit the picture.', 'Send a PNG of the same size as the picture.'],
  invalid_message: ['The body is not one JSON-RPC message.', 'Send one object; lists are not accepted.'],
  invalid_path: [
    "The path has a backslash or a segment '.' or '..', which a proxy may interpret differently.",
    'Send the intended path.',
  ],
  invalid_signature: [
    'A payment report is not signed with the configured secret, or is too old.',
    "Compare `payments.stripe.signingSecret` with the endpoint's secret; check the clock.",
    'gateway doctor',
  ],
  invalid_type: ['A field has the wrong type.', 'Send the type named in the message.'],
  invalid_value: ['A field or parameter has a value that is not accepted.', 'Send one named in the message.'],
  max_cost_exceeded: [
    'The request can cost more than its `max_cost_usd`.',
    'Raise the limit, or request less.',
  ],
  missing_required_parameter: ['A required field is missing.', 'Add it.'],
  mutually_exclusive_parameters: ['Two fields exclude each other.', 'Send one of them.'],
  previous_response_not_found: [
    'The response to continue was not kept, was deleted, or is too old.',
    'Send the whole conversation in `input`; store responses longer with `responses.keep`.',
  ],
  too_deep: ['The body is too deeply nested.', 'Send flatter JSON.'],
  too_many_rows: [
    'A report has more rows than one answer holds.',
    'Choose a shorter period or one dimension, or request a file with `format=csv`.',
  ],
  unknown_parameter: [
    'The field does not exist, or not for this model.',
    'Leave it out, or correct its spelling.',
  ],
  unreadable_audio: ['The audio cannot be read.', 'Convert it to one of the formats in the message.'],
  unsupported_audio_format: ['Audio of this format is not supported.', 'Convert it.'],
  unsupported_endpoint: [
    'This gateway stores no conversations.',
    'Send the conversation in each request, or set `responses.keep`.',
  ],
  unsupported_image_format: ['The content of the picture is not PNG, JPEG or WebP.', 'Convert it.'],
  unsupported_operation: ['The model cannot remix this video.', 'Make a new one.'],
  unsupported_parameter: [
    'The model does not support the field, or has no price for it.',
    'Leave it out, choose another model, or set its price.',
    'gateway models list',
  ],
  upstream_refused: ['The vendor refuses the request, without a code.', 'Follow its message.'],
  unsupported_value: ['The model does not support the value, or has no price for it.', 'Send another value.'],
} satisfies Record<string, CodeRow>

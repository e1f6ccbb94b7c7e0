// Draws the interface description that the page names.
SwaggerUIBundle({
  url: document.querySelector('#docs').dataset.description,
  dom_id: '#docs',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})

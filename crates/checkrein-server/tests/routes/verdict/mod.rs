mod give;

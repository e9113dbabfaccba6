"""What storage does without a database: fio driven, its figures typed, its test files made and gone again."""

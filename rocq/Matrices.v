(* Matrices of real numbers, formulas about them as papers print them, and the index expressions that the kernel computes with.

   Rows and columns are numbered by several indices each: a row of A (x) B by one of A and one of B, an entry of vec_r X by a
   row and a column of X. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus Inverses Tables Slopes Statements Claims.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* --------------------------------------------------------------------------------------------------------- vocabulary *)

(* the sizes of the indices of rows and columns, and the entries *)
Record matrix (R : realType) := Matrix { rows : seq nat; columns : seq nat; entry : seq nat -> seq nat -> R }.

Section Vocabulary.
Variable R : realType.
Implicit Types (A B X v : matrix R) (c : R).

Definition same A B : Prop := [/\ rows A = rows B, columns A = columns B
  & forall i j, within (rows A) i -> within (columns A) j -> entry A i j = entry B i j].
Definition has_shape A (shape : seq nat * seq nat) : Prop := rows A = shape.1 /\ columns A = shape.2.

Definition constant c := Matrix [::] [::] (fun _ _ => c).
Definition number A : R := entry A [::] [::].
Definition ones ns ms := Matrix ns ms (fun _ _ => 1 : R).
Definition identity ns := Matrix ns ns (fun i j => (i == j)%:R : R).
Definition add A B := Matrix (rows A) (columns A) (fun i j => entry A i j + entry B i j).
Definition scale c A := Matrix (rows A) (columns A) (fun i j => c * entry A i j).
Definition product A B := Matrix (rows A) (columns B) (fun i j => total (columns A) (fun k => entry A i k * entry B k j)).
Definition entrywise_product A B := Matrix (rows A) (columns A) (fun i j => entry A i j * entry B i j).
Definition transpose A := Matrix (columns A) (rows A) (fun i j => entry A j i).
Definition kron A B := Matrix (rows A ++ rows B) (columns A ++ columns B) (fun i j =>
  entry A (take (size (rows A)) i) (take (size (columns A)) j) * entry B (drop (size (rows A)) i) (drop (size (columns A)) j)).
Definition vec_r A := Matrix (rows A ++ columns A) [::] (fun i _ => entry A (take (size (rows A)) i) (drop (size (rows A)) i)).
Definition trace A := Matrix [::] [::] (fun _ _ => total (rows A) (fun k => entry A k k)).
Definition diag v := Matrix (rows v) (rows v) (fun i j => entry v i [::] * (i == j)%:R : R).
Definition diag_part A := Matrix (rows A) [::] (fun i _ => entry A i i).
Definition each (f : R -> R) A := Matrix (rows A) (columns A) (fun i j => f (entry A i j)).
Definition sign_step (x : R) : R := (0 < x)%R%:R.
Definition relu (x : R) : R := x * sign_step x.
(* over the columns *)
Definition softmax_rows A := Matrix (rows A) (columns A) (fun i j =>
  expR (entry A i j) / total (columns A) (fun k => expR (entry A i k))).
(* the inverse where there is one *)
Definition inverse_matrix A := let n := size (rows A) in let ns := rows A ++ columns A in
  Matrix (rows A) (columns A) (fun i j => inverse n ns (cut ns (fun ks => entry A (take n ks) (drop n ks))) (i ++ j)).
(* the derivative of a softmax A in its argument, both read row by row *)
Definition softmax_jacobian A := let n := size (rows A) in
  Matrix (rows A ++ columns A) (rows A ++ columns A) (fun i j => (take n i == take n j)%:R *
    (entry A (take n i) (drop n i) * ((drop n i == drop n j)%:R - entry A (take n i) (drop n j))) : R).
(* the second derivative of a softmax A: the derivative of the entries of `softmax_jacobian A`, read row by row *)
Definition softmax_hessian A := let n := size (rows A) in let ns := rows A ++ columns A in
  Matrix (ns ++ ns) ns (fun i j => let one := take (size ns) i in let two := drop (size ns) i in
    let d x y : R := (drop n x == drop n y)%:R in let a x := entry A (take n one) (drop n x) in
    (take n one == take n two)%:R * (take n one == take n j)%:R *
      (a one * ((d one two - a two) * (d one j - a j) - a two * (d two j - a j)))).
Definition commutation ns ms := Matrix (ns ++ ms) (ms ++ ns) (fun i j =>
  ((take (size ns) i == drop (size ms) j) && (drop (size ns) i == take (size ms) j))%:R : R).
(* X with t added to one entry *)
Definition moved X (at_ : seq nat) (t : R) := Matrix (rows X) (columns X) (fun i j => entry X i j + t * (i ++ j == at_)%:R).
(* the real partial derivatives of a column in all entries of X *)
Definition jacobian (f : matrix R -> matrix R) X := Matrix (rows (f X)) (rows X ++ columns X) (fun i at_ =>
  'D_1 (fun t => entry (f (moved X at_ t)) i [::] : R) (0 : R)).
Definition hessian (f : matrix R -> matrix R -> matrix R) X Y := jacobian (fun y => vec_r (jacobian (fun x => f x y) X)) Y.
Definition fraction (p : Z) (q : BinNums.positive) : R := rational R (p, q).
(* c^(p / q) *)
Definition root c (p : Z) (q : BinNums.positive) : R := raised c (p, q).
Definition subtract A B := add A (scale (fraction (-1) 1) B).
Lemma subtract_entry A B i j : entry (subtract A B) i j = entry A i j - entry B i j.
Proof. by rewrite /= /fraction rationalN1 mulN1r. Qed.
End Vocabulary.
Arguments fraction {R} p q.

Declare Scope matrix_scope.
Delimit Scope matrix_scope with M.
Bind Scope matrix_scope with matrix.
Reserved Notation "A ^T" (at level 8, format "A ^T").
Reserved Notation "A ⊗ B" (at level 40, left associativity).
Reserved Notation "A ∘ B" (at level 40, left associativity).
Notation "A + B" := (add A B) : matrix_scope.
Notation "A - B" := (subtract A B) : matrix_scope.
Notation "A * B" := (product A B) : matrix_scope.
Notation "c *: A" := (scale c%R A) : matrix_scope.
Notation "A ^T" := (transpose A) : matrix_scope.
Notation "A ⊗ B" := (kron A B) : matrix_scope.
Notation "A ∘ B" := (entrywise_product A B) : matrix_scope.
Notation "A = B" := (same A B) : matrix_scope.

(* ------------------------------------------------------------------------------------------------------------ formulas *)

Definition sizes_of_shape := (seq nat * seq nat)%type.
Inductive term :=
| Given of nat
| OfNumber of ratio | OfBase of base & ratio
| Ones of seq nat & seq nat | Eye of seq nat
| AddM of term & term | Scale of term & term | MulM of term & term | Entries of term & term
| Transpose of term | Kron of term & term | Vec of term | Trace of term | Diag of term | DiagPart of term
| Each of head & nat & term           (* the number of the function in the table *)
| Relu of nat & term
| SoftmaxRows_ of nat & term
| InverseM of nat & term
| SoftmaxJacobian of term
| SoftmaxHessian of term
| Commutation of seq nat & seq nat
| Jacobian of nat & term & term.      (* in the matrix of this number, at a point *)

Section Compile.
(* matrices below this number are given *)
Variables (T : table) (shapes : nat -> sizes_of_shape) (givens : nat).

Fixpoint shape (t : term) : sizes_of_shape := match t with
  | Given k => shapes k
  | OfNumber _ | OfBase _ _ | Trace _ => ([::], [::])
  | Ones r c => (r, c) | Eye ns => (ns, ns)
  | AddM a _ | Entries a _ | Scale _ a | Each _ _ a | Relu _ a | SoftmaxRows_ _ a | InverseM _ a => shape a
  | MulM a b => ((shape a).1, (shape b).2)
  | Transpose a => ((shape a).2, (shape a).1)
  | Kron a b => ((shape a).1 ++ (shape b).1, (shape a).2 ++ (shape b).2)
  | Vec a => ((shape a).1 ++ (shape a).2, [::])
  | Diag a => ((shape a).1, (shape a).1) | DiagPart a => ((shape a).1, [::])
  | SoftmaxJacobian a => ((shape a).1 ++ (shape a).2, (shape a).1 ++ (shape a).2)
  | SoftmaxHessian a => let ns := (shape a).1 ++ (shape a).2 in (ns ++ ns, ns)
  | Commutation ns ms => (ns ++ ms, ms ++ ns)
  | Jacobian _ a p => ((shape a).1, (shape p).1 ++ (shape p).2) end.

(* indices of these sizes *)
Definition new_indices (k : N) (ns : seq nat) : seq index := named_from k [seq (0%num, n) | n <- ns].
Definition totals (vs : seq index) (f : formula) : formula := foldr Total f vs.

(* the entry at these indices of rows and columns *)
Fixpoint compile (t : term) (rs cs : seq index) : formula :=
  let fresh ns := new_indices (above (rs ++ cs)) ns in
  match t with
  | Given k | Each _ k _ | SoftmaxRows_ k _ | InverseM k _ => Plain (Entry k (rs ++ cs))
  | OfNumber q => Plain (Number q)
  | OfBase b q => Plain (Power b q)
  | Ones _ _ => Plain (Int 1)
  | Eye _ => Plain (deltas_between rs cs)
  | AddM a b => Plus (compile a rs cs) (compile b rs cs)
  | Scale s a => Product (compile s [::] [::]) (compile a rs cs)
  | MulM a b => let ms := fresh (shape a).2 in totals ms (Product (compile a rs ms) (compile b ms cs))
  | Entries a b => Product (compile a rs cs) (compile b rs cs)
  | Transpose a => compile a cs rs
  | Kron a b => let p := size (shape a).1 in let q := size (shape a).2 in
      Product (compile a (take p rs) (take q cs)) (compile b (drop p rs) (drop q cs))
  | Vec a => compile a (take (size (shape a).1) rs) (drop (size (shape a).1) rs)
  | Trace a => let ms := fresh (shape a).1 in totals ms (compile a ms ms)
  | Diag a => Product (compile a rs [::]) (Plain (deltas_between rs cs))
  | DiagPart a => compile a rs rs
  | Relu k a => Product (compile a rs cs) (Plain (Entry k (rs ++ cs)))
  | SoftmaxJacobian a => let n := size (shape a).1 in
      Product (Plain (deltas_between (take n rs) (take n cs))) (Product (compile a (take n rs) (drop n rs))
        (Plus (Plain (deltas_between (drop n rs) (drop n cs))) (Product (Plain (Int (-1))) (compile a (take n rs) (drop n cs)))))
  | SoftmaxHessian a => let n := size (shape a).1 in let k := size ((shape a).1 ++ (shape a).2) in
      let one := take k rs in let two := drop k rs in
      let minus f g := Plus f (Product (Plain (Int (-1))) g) in
      let d x y := Plain (deltas_between (drop n x) (drop n y)) in let at_row x := compile a (take n one) (drop n x) in
      Product (Product (Plain (deltas_between (take n one) (take n two))) (Plain (deltas_between (take n one) (take n cs))))
        (Product (at_row one) (minus (Product (minus (d one two) (at_row two)) (minus (d one cs) (at_row cs)))
          (Product (at_row two) (minus (d two cs) (at_row cs)))))
  | Commutation ns ms => Plain (Mul (deltas_between (take (size ns) rs) (drop (size ms) cs)) (deltas_between (drop (size ns) rs) (take (size ms) cs)))
  | Jacobian k a _ => Partial k cs (compile a rs [::]) end.

Definition own_rows (t : term) := new_indices 0 (shape t).1.
Definition own_columns (t : term) := new_indices (N.of_nat (size (shape t).1)) (shape t).2.
(* whether function k of the table is this function of the matrix *)
Definition is_of (scope : seq nat) (h : head) (k : nat) (a : term) : bool :=
  let f := compile a (own_rows a) (own_columns a) in
  [&& k \notin scope, ~~ has_partial f &
    if find T k is Some n then [&& head_eq (function n) h, slots n == own_rows a ++ own_columns a & expr_eq (argument n) (lower T f)]
    else false].
Definition is_given (k : nat) (t : term) := if t is Given j then j == k else false.
Definition visible (scope : seq nat) (k : nat) := (k \in scope) || ((k < givens)%N && (if find T k is None then true else false)).
(* whether sizes agree, functions are those of the table, and matrices are inputs or what is differentiated by *)
Fixpoint sound (scope : seq nat) (t : term) : bool := match t with
  | Given k => visible scope k
  | OfNumber _ | OfBase _ _ | Ones _ _ | Eye _ => true
  | AddM a b | Entries a b => [&& sound scope a, sound scope b & shape a == shape b]
  | Scale s a => [&& sound scope s, sound scope a & shape s == ([::], [::])]
  | MulM a b => [&& sound scope a, sound scope b & (shape a).2 == (shape b).1]
  | Kron a b => sound scope a && sound scope b
  | Transpose a | Vec a => sound scope a
  | Trace a | DiagPart a => sound scope a && ((shape a).1 == (shape a).2)
  | Diag a => sound scope a && ((shape a).2 == [::])
  | Each h k a => [&& sound scope a, entrywise h & is_of scope h k a]
  | Relu k a => sound scope a && is_of scope Step k a
  | SoftmaxRows_ k a => sound scope a && is_of scope (Softmax (size (shape a).2)) k a
  | InverseM k a => [&& sound scope a, (shape a).1 == (shape a).2 & is_of scope (Inverse (size (shape a).1)) k a]
  | SoftmaxJacobian a | SoftmaxHessian a => sound scope a
  | Commutation _ _ => true
  | Jacobian k a p => [&& sound (k :: scope) a, (shape a).2 == [::], shapes k == shape p, sound scope p
      & is_given k p || ((k \notin scope) && is_of scope (Raised one_power) k p)] end.
End Compile.

(* ------------------------------------------------------------------------------------------------------------- meaning *)

Section Meaning.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (shapes : nat -> sizes_of_shape) (givens : nat).
Hypothesis T_formed : well_formed T.

Definition of_head (h : head) : R -> R := match h with
  | Exp => @expR R | Log => @ln R | Step => @sign_step R | Raised q => fun x => raised x q | _ => id end.
Definition with_matrix (given : nat -> matrix R) (k : nat) (X : matrix R) : nat -> matrix R := fun j => if j == k then X else given j.
Fixpoint denote (given : nat -> matrix R) (t : term) : matrix R := match t with
  | Given k => given k
  | OfNumber q => constant (rational R q)
  | OfBase b q => constant (power size_of scalar b q)
  | Ones r c => ones R (map size_of r) (map size_of c)
  | Eye ns => identity R (map size_of ns)
  | AddM a b => add (denote given a) (denote given b)
  | Scale s a => scale (number (denote given s)) (denote given a)
  | MulM a b => product (denote given a) (denote given b)
  | Entries a b => entrywise_product (denote given a) (denote given b)
  | Transpose a => transpose (denote given a)
  | Kron a b => kron (denote given a) (denote given b)
  | Vec a => vec_r (denote given a)
  | Trace a => trace (denote given a)
  | Diag a => diag (denote given a)
  | DiagPart a => diag_part (denote given a)
  | Each h _ a => each (of_head h) (denote given a)
  | Relu _ a => each (@relu R) (denote given a)
  | SoftmaxRows_ _ a => softmax_rows (denote given a)
  | InverseM _ a => inverse_matrix (denote given a)
  | SoftmaxJacobian a => softmax_jacobian (denote given a)
  | SoftmaxHessian a => softmax_hessian (denote given a)
  | Commutation ns ms => commutation R (map size_of ns) (map size_of ms)
  | Jacobian k a p => jacobian (fun X => denote (with_matrix given k X) a) (denote given p) end.

Definition sized (s : sizes_of_shape) : seq nat * seq nat := (map size_of s.1, map size_of s.2).
Variable input : nat -> seq nat -> R.
Local Notation world over := (entries_at size_of scalar arbitrary input T over).
Local Notation vary over by_ ats := (varied size_of scalar arbitrary T input over by_ ats).
Local Notation fval over := (formula_value size_of scalar arbitrary T input over).
Local Notation ok := (valid size_of).
Local Notation shp := (shape shapes).

Local Notation visible := (visible T givens).
(* the matrices of a formula are the entries of the table's inputs, and of what is differentiated by *)
Definition agrees (given : nat -> matrix R) (over : given_entries R) (scope : seq nat) : Prop :=
  forall k, visible scope k -> [/\ has_shape (given k) (sized (shapes k)), over k <> None \/ find T k = None
    & forall i j, within (rows (given k)) i -> within (columns (given k)) j -> world over k (i ++ j) = entry (given k) i j].

Lemma denote_shape t given scope : sound T shapes givens scope t -> (forall k, visible scope k -> has_shape (given k) (sized (shapes k))) ->
  has_shape (denote given t) (sized (shp t)).
Proof.
elim: t given scope => [k|q|b q|r c|ns|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa|a IHa b IHb|a IHa|a IHa|a IHa|a IHa
  |h k a IHa|k a IHa|k a IHa|k a IHa|a IHa|a IHa|ns ms|k a IHa p IHp] given scope; rewrite /sized /has_shape /=.
- by move=> v; apply.
- by [].
- by [].
- by [].
- by [].
- by case/and3P => /IHa Ha _ _ /Ha.
- by case/and3P => _ /IHb Hb _ /Hb.
- by case/and3P => /IHa Ha /IHb Hb _ G; have [-> _] := Ha _ G; have [_ ->] := Hb _ G.
- by case/and3P => /IHa Ha _ _ /Ha.
- by move=> /IHa Ha /Ha [-> ->].
- by case/andP => /IHa Ha /IHb Hb G; have [-> ->] := Ha _ G; have [-> ->] := Hb _ G; rewrite !map_cat.
- by move=> /IHa Ha /Ha [-> ->]; rewrite map_cat.
- by [].
- by case/andP => /IHa Ha _ /Ha [-> _].
- by case/andP => /IHa Ha _ /Ha [-> _].
- by case/and3P => /IHa Ha _ _ /Ha.
- by case/andP => /IHa Ha _ /Ha.
- by case/andP => /IHa Ha _ /Ha.
- by case/and3P => /IHa Ha _ _ /Ha.
- by move=> /IHa Ha /Ha [-> ->]; rewrite map_cat.
- by move=> /IHa Ha /Ha [-> ->]; rewrite !map_cat.
- by rewrite !map_cat.
case/and5P => Sa _ /eqP sk Sp _ G; have [Pr Pc] := IHp _ _ Sp G; rewrite Pr Pc map_cat; split=> //.
have G' j : visible (k :: scope) j -> has_shape (with_matrix given k (denote given p) j) (sized (shapes j)).
  rewrite /visible inE /with_matrix; case: eqP => [-> _|_ v]; last exact: G.
  by rewrite /has_shape Pr Pc sk.
by have [-> _] := IHa _ _ Sa G'.
Qed.

(* ------------------------------------------------------------------------------------------------------ sums of entries *)

Lemma totals_value over vs f r : fval over r (totals vs f) = total (lengths size_of vs) (fun xs => fval over (assigned vs xs r) f).
Proof. by elim: vs r => [|v vs IH] r //=; apply: eq_bigr => x _; rewrite IH. Qed.
Lemma sizes_map (ns : seq nat) : sizes [seq (0%num, n) | n <- ns] = ns.
Proof. by rewrite /sizes -map_comp map_id. Qed.
Lemma new_sizes k ns : sizes (new_indices k ns) = ns.
Proof. by have [-> _ _ _] := fresh_from k [seq (0%num, n) | n <- ns]; exact: sizes_map. Qed.
Lemma new_uniq k ns : uniq (new_indices k ns).
Proof. by have [_ _ -> _] := fresh_from k [seq (0%num, n) | n <- ns]. Qed.
Lemma new_size k ns : size (new_indices k ns) = size ns.
Proof. by have [_ -> _ _] := fresh_from k [seq (0%num, n) | n <- ns]; rewrite size_map. Qed.
Lemma new_above vs ws ns r xs : {subset ws <= vs} -> map (assigned (new_indices (above vs) ns) xs r) ws = map r ws.
Proof.
move=> sub; apply/eq_in_map => w /sub wv; apply: assigned_notin; apply/negP.
have [_ _ _ H] := fresh_from (above vs) [seq (0%num, n) | n <- ns].
by move=> /H [le _]; exact: (below_and_above (above_in wv) le).
Qed.
Lemma lengths_new k ns : lengths size_of (new_indices k ns) = map size_of ns.
Proof. by rewrite -[in RHS](new_sizes k ns) /lengths /sizes -map_comp. Qed.
Lemma sizes_within_map vs ns r : ok r -> sizes vs = ns -> within (map size_of ns) (map r vs).
Proof. by move=> rV <-; have := valid_within vs rV; rewrite /lengths /sizes -map_comp. Qed.
Lemma deltas_equal over r vs ws : size vs = size ws -> fval over r (Plain (deltas_between vs ws)) = (map r vs == map r ws)%:R.
Proof. by move=> sz; rewrite /= deltas_value. Qed.

(* --------------------------------------------------------------------------------------- the entry at indices, compiled *)

Lemma own_ok k over scope h a given : is_of T shapes scope h k a -> (forall k, over k <> None -> k \in scope) ->
  (forall rs cs r, ok r -> sizes rs = (shp a).1 -> sizes cs = (shp a).2 ->
    fval over r (compile shapes a rs cs) = entry (denote given a) (map r rs) (map r cs)) ->
  let ns := map size_of ((shp a).1 ++ (shp a).2) in forall xs,
  world over k xs = apply arbitrary h ns (cut ns (fun zs =>
    entry (denote given a) (take (size (shp a).1) zs) (drop (size (shp a).1) zs))) xs.
Proof.
case/and3P => ks /negPf P; case F: (find T k) => [n|] // /and3P[/head_eqP hn /eqP sl /expr_eqP ar] W IH ns xs.
have O : over k = None by case O: (over k) => [X|] //; move: ks; rewrite W // O.
rewrite (entries_at_find size_of scalar arbitrary input T_formed F O) /node_value hn.
have -> : lengths size_of (slots n) = ns by rewrite sl /lengths map_cat -!/(lengths _ _) !lengths_new -map_cat.
congr apply; apply: cut_eq => zs wz.
set rs := own_rows shapes a in sl P ar; set cs := own_columns shapes a in sl P ar.
have un : uniq (rs ++ cs).
  by have [] := find_value size_of scalar arbitrary input T_formed F; rewrite /closed sl => /andP[].
have sz : size zs = size (rs ++ cs).
  by rewrite (within_size wz) /ns size_map !size_cat /rs /cs !new_size.
pose r := assigned (slots n) zs (nowhere).
have rV : ok r.
  apply: assigned_valid; first exact: nowhere_valid.
  by rewrite sl /lengths map_cat -!/(lengths _ _) !lengths_new -map_cat.
have rz : map r (rs ++ cs) = zs by rewrite /r sl assigned_map.
have [_ V] := plain_right size_of scalar arbitrary T input over r P.
rewrite -/r ar -V IH ?new_sizes //.
have szr : size (map r rs) = size (shp a).1 by rewrite size_map /rs new_size.
by rewrite -rz map_cat -szr take_size_cat // drop_size_cat.
Qed.
Lemma agrees_shape given over scope t : agrees given over scope -> sound T shapes givens scope t ->
  has_shape (denote given t) (sized (shp t)).
Proof. by move=> A S; apply: denote_shape S _ => k v; have [] := A k v. Qed.
Lemma size_sizes vs ns : sizes vs = ns -> size vs = size ns. Proof. by move=> <-; rewrite size_map. Qed.
Lemma sizes_take vs ns ms : sizes vs = ns ++ ms -> sizes (take (size ns) vs) = ns.
Proof. by move=> E; rewrite /sizes map_take -/(sizes vs) E take_size_cat. Qed.
Lemma sizes_drop vs ns ms : sizes vs = ns ++ ms -> sizes (drop (size ns) vs) = ms.
Proof. by move=> E; rewrite /sizes map_drop -/(sizes vs) E drop_size_cat. Qed.

Lemma given_is k t : is_given k t -> t = Given k. Proof. by case: t => // j /eqP ->. Qed.
Lemma own_IH a given over scope : (forall given over scope r rs cs, sound T shapes givens scope a -> agrees given over scope ->
    (forall k, over k <> None -> k \in scope) -> ok r -> sizes rs = (shp a).1 -> sizes cs = (shp a).2 ->
    fval over r (compile shapes a rs cs) = entry (denote given a) (map r rs) (map r cs)) ->
  sound T shapes givens scope a -> agrees given over scope -> (forall k, over k <> None -> k \in scope) ->
  forall rs cs r, ok r -> sizes rs = (shp a).1 -> sizes cs = (shp a).2 ->
    fval over r (compile shapes a rs cs) = entry (denote given a) (map r rs) (map r cs).
Proof. by move=> H S A W rs cs r; exact: (H _ _ _ _ _ _ S A W). Qed.
Lemma own_places a rs cs r : ok r -> sizes rs = (shp a).1 -> sizes cs = (shp a).2 ->
  let xs := map r rs ++ map r cs in let n := size (shp a).1 in
  [/\ within (map size_of ((shp a).1 ++ (shp a).2)) xs, take n xs = map r rs & drop n xs = map r cs].
Proof.
move=> rV Er Ec xs n; have sz : n = size (map r rs) by rewrite size_map (size_sizes Er).
split; last 2 first; [by rewrite sz take_size_cat | by rewrite sz drop_size_cat |].
by rewrite map_cat; apply: within_cat; exact: sizes_within_map.
Qed.

Theorem compile_right t given over scope r rs cs : sound T shapes givens scope t -> agrees given over scope ->
  (forall k, over k <> None -> k \in scope) -> ok r -> sizes rs = (shp t).1 -> sizes cs = (shp t).2 ->
  fval over r (compile shapes t rs cs) = entry (denote given t) (map r rs) (map r cs).
Proof.
elim: t given over scope r rs cs => [k|q|b q|m c|ns|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa|a IHa b IHb|a IHa|a IHa
  |a IHa|a IHa|h k a IHa|k a IHa|k a IHa|k a IHa|a IHa|a IHa|ns ms|k a IHa p IHp] given over scope r rs cs.
- move=> v A W rV Er Ec; have [[Sr Sc] _ E] := A _ v.
  by rewrite /= /meaning /= map_cat E // ?Sr ?Sc; exact: sizes_within_map.
- by [].
- by [].
- by move=> *; rewrite /= /meaning /= rational1.
- by move=> _ _ _ _ Er Ec; rewrite [compile _ _ _ _]/= deltas_equal // (size_sizes Er) (size_sizes Ec).
- case/and3P => Sa Sb /eqP E A W rV Er Ec; rewrite /= (IHa _ _ _ _ _ _ Sa A W rV Er Ec).
  by rewrite (IHb _ _ _ _ _ _ Sb A W rV) -?E.
- case/and3P => Sa Sb /eqP E A W rV Er Ec; rewrite /= (IHa _ _ _ _ _ _ Sa A W rV) ?E //.
  by rewrite (IHb _ _ _ _ _ _ Sb A W rV).
- case/and3P => Sa Sb /eqP E A W rV Er Ec; rewrite /= totals_value lengths_new.
  have [_ ->] := agrees_shape A Sa; apply: total_eq => xs wx; set ms := new_indices _ _.
  have rV' : ok (assigned ms xs r) by apply: assigned_valid => //; rewrite lengths_new.
  have mx : map (assigned ms xs r) ms = xs by rewrite assigned_map ?new_uniq // new_size (within_size wx) size_map.
  rewrite /= (IHa _ _ _ _ _ _ Sa A W rV') ?new_sizes // (IHb _ _ _ _ _ _ Sb A W rV') ?new_sizes // mx.
  by rewrite !new_above // => w wv; rewrite mem_cat wv ?orbT.
- case/and3P => Sa Sb /eqP E A W rV Er Ec; rewrite /= (IHa _ _ _ _ _ _ Sa A W rV Er Ec).
  by rewrite (IHb _ _ _ _ _ _ Sb A W rV) -?E.
- by move=> Sa A W rV Er Ec; rewrite /= (IHa _ _ _ _ _ _ Sa A W rV).
- case/andP => Sa Sb A W rV Er Ec; have [Ra Ca] := agrees_shape A Sa.
  rewrite /= (IHa _ _ _ _ _ _ Sa A W rV) ?(sizes_take Er) ?(sizes_take Ec) //.
  rewrite (IHb _ _ _ _ _ _ Sb A W rV) ?(sizes_drop Er) ?(sizes_drop Ec) //.
  by rewrite Ra Ca !size_map !map_take !map_drop.
- move=> Sa A W rV Er Ec; have [Ra Ca] := agrees_shape (t := a) A Sa.
  rewrite /= (IHa _ _ _ _ _ _ Sa A W rV) ?(sizes_take Er) ?(sizes_drop Er) //.
  by rewrite Ra size_map map_take map_drop.
- case/andP => Sa /eqP E A W rV Er Ec; rewrite /= totals_value lengths_new.
  have [-> _] := agrees_shape A Sa; apply: total_eq => xs wx; set ms := new_indices _ _.
  have rV' : ok (assigned ms xs r) by apply: assigned_valid => //; rewrite lengths_new.
  have mx : map (assigned ms xs r) ms = xs by rewrite assigned_map ?new_uniq // new_size (within_size wx) size_map.
  by rewrite (IHa _ _ _ _ _ _ Sa A W rV') ?new_sizes // mx.
- case/andP => Sa /eqP E A W rV Er Ec.
  rewrite [LHS]/(fval over r (compile shapes a rs [::]) * fval over r (Plain (deltas_between rs cs))).
  by rewrite deltas_equal ?(size_sizes Er) ?(size_sizes Ec) // (IHa _ _ _ _ _ _ Sa A W rV).
- by case/andP => Sa /eqP E A W rV Er Ec; rewrite /= (IHa _ _ _ _ _ _ Sa A W rV) -?E.
- case/and3P => Sa eh F A W rV Er Ec; have IH := own_IH IHa Sa A W.
  rewrite [LHS](own_ok F W IH) (map_cat r); have [wx tk dp] := own_places (a := a) rV Er Ec.
  by case: (h) eh => //= *; rewrite /cut wx tk dp.
- case/andP => Sa F A W rV Er Ec; have IH := own_IH IHa Sa A W.
  rewrite [LHS]/(fval over r (compile shapes a rs cs) * world over k (map r (rs ++ cs))) (own_ok F W IH) (map_cat r) IH //.
  by have [wx tk dp] := own_places (a := a) rV Er Ec; rewrite /= /cut wx tk dp.
- case/andP => Sa F A W rV Er Ec; have IH := own_IH IHa Sa A W.
  rewrite [LHS](own_ok F W IH) (map_cat r); have [wx tk dp] := own_places (a := a) rV Er Ec.
  have [Ra Ca] := agrees_shape A Sa; rewrite /= /softmax /cut wx tk dp Ca.
  have szm : (size (map size_of ((shp a).1 ++ (shp a).2)) - size (shp a).2)%N = size (shp a).1 by rewrite size_map size_cat addnK.
  rewrite szm tk map_cat drop_size_cat ?size_map //; congr (_ / _); apply: total_eq => xs wxs.
  have wr := sizes_within_map rV Er; have szr : size (map r rs) = size (shp a).1 by rewrite (within_size wr) size_map.
  by rewrite (within_cat wr wxs) -szr take_size_cat // drop_size_cat.
- case/and3P => Sa /eqP E F A W rV Er Ec; have IH := own_IH IHa Sa A W.
  rewrite [LHS](own_ok F W IH) (map_cat r); have [Ra Ca] := agrees_shape A Sa.
  by rewrite /= Ra Ca size_map map_cat.
- move=> Sa A W rV Er Ec; have [Ra Ca] := agrees_shape (t := a) A Sa.
  set n := size (shp a).1; set de := fun vs ws => fval over r (Plain (deltas_between vs ws)).
  rewrite [LHS]/(de (take n rs) (take n cs) * (fval over r (compile shapes a (take n rs) (drop n rs)) *
    (de (drop n rs) (drop n cs) + rational R ((-1)%Z, xH) * fval over r (compile shapes a (take n rs) (drop n cs))))).
  have tr := sizes_take Er; have tc := sizes_take Ec; have dr := sizes_drop Er; have dc := sizes_drop Ec.
  rewrite /de !deltas_equal ?(size_sizes tr) ?(size_sizes tc) ?(size_sizes dr) ?(size_sizes dc) //.
  rewrite !(IHa _ _ _ _ _ _ Sa A W rV) // (_ : rational R ((-1)%Z, xH) = -1 :> R); last exact: rationalN1.
  rewrite /= Ra size_map -/n !map_take !map_drop.
  by apply: (congr1 (fun x => _ * (_ * (_ + x)))); exact: mulN1r.
- move=> Sa A W rV Er Ec; have [Ra Ca] := agrees_shape (t := a) A Sa.
  have t1 := sizes_take Er; have d1 := sizes_drop Er.
  move: (sizes_take t1) (sizes_drop t1) (sizes_take d1) (sizes_drop d1) (sizes_take Ec) (sizes_drop Ec).
  set n := size (shp a).1; set k := size _ => r1 c1 r2 c2 r3 c3.
  have e0 : rational R ((-1)%Z, xH) = -1 :> R by exact: rationalN1.
  have val f g : formula_value size_of scalar arbitrary T input over r (Plus f (Product (Plain (Int (-1))) g))
      = fval over r f - fval over r g by rewrite /= /meaning /= e0 mulN1r.
  have prod f g : formula_value size_of scalar arbitrary T input over r (Product f g) = fval over r f * fval over r g by [].
  rewrite [compile _ _ _ _]/= -/n -/k !prod !val !prod !val.
  rewrite !deltas_equal ?(size_sizes r1) ?(size_sizes r2) ?(size_sizes r3) ?(size_sizes c1) ?(size_sizes c2) ?(size_sizes c3) //.
  rewrite !(IHa _ _ _ _ _ _ Sa A W rV) //.
  by rewrite /= Ra Ca -map_cat !size_map -/n -/k -?map_take -?map_drop -?map_take -?map_drop.
- move=> _ _ _ rV Er Ec; have tr := sizes_take Er; have tc := sizes_take Ec; have dr := sizes_drop Er; have dc := sizes_drop Ec.
  rewrite [LHS]/(fval over r (Plain (deltas_between (take (size ns) rs) (drop (size ms) cs)))
    * fval over r (Plain (deltas_between (drop (size ns) rs) (take (size ms) cs)))).
  rewrite !deltas_equal ?(size_sizes tr) ?(size_sizes tc) ?(size_sizes dr) ?(size_sizes dc) //.
  by rewrite /= !size_map !map_take !map_drop -mulnb natrM.
case/and5P => Sa /eqP Ea /eqP Ek Sp Pt A W rV Er Ec; have [Rp Cp] := agrees_shape A Sp.
set point := denote given p.
have at_point i j : within (rows point) i -> within (columns point) j -> world over k (i ++ j) = entry point i j.
  rewrite Rp Cp => wi wj; case/orP: Pt => [|/andP[_ F]].
    move=> /given_is pE; have := Sp; rewrite {1}pE => v; have [[Sr Sc] _ H] := A k v.
    by rewrite /point pE; apply: H; rewrite ?Sr ?Sc Ek.
  rewrite (own_ok F W (own_IH IHp Sp A W)) /= raised_one /cut.
  rewrite map_cat (within_cat wi wj); have := within_size wi; rewrite size_map => <-.
  by rewrite take_size_cat // drop_size_cat.
apply: (congr1 (fun f => 'D_1 (f : R -> R) (0 : R))); apply/funext => t.
set ats := map r cs; set over' := vary over k ats t.
rewrite -/(fval over' r (compile shapes a rs [::])) (IHa (with_matrix given k (moved point ats t)) over' (k :: scope)) //.
- move=> j; rewrite /visible inE /with_matrix; case: eqP => [-> _|/eqP jk v].
    split; first by rewrite /has_shape /= Rp Cp Ek.
      by left; rewrite /over' /varied eqxx.
    by move=> i j' wi wj; rewrite variedE at_point.
  have [Sj Oj Ej] := A j v; split=> //.
    by case: Oj => [O|]; [left; rewrite /over' varied_other | right].
  move=> i j' wi wj; rewrite -Ej //; case O: (over j) Oj => [X|] Oj; first by rewrite /over' (E_given _ _ _ _ _ _ _ _ jk O).
  by case: Oj => // F; rewrite /over' E_input.
- by move=> j; apply: varied_scope.
Qed.
End Meaning.

(* ------------------------------------------------------------------------------------------------------------- claims *)

Section Claims.
Variables (R : realType) (ns : seq nat) (cs : seq R) (Ms : seq (matrix R)).
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (conditions : seq condition) (hypotheses : seq equation) (steps : seq step).
Variable known_shapes : seq sizes_of_shape.
Let shapes := nth ([::], [::]) known_shapes.
Let size_of := nth 1%N ns.
Let scalar := nth (1 : R) cs.
Let given := nth (constant (0 : R)) Ms.
Let input (k : nat) (xs : seq nat) : R :=
  entry (given k) (take (size (shapes k).1) xs) (drop (size (shapes k).1) xs).

(* what a theorem assumes beside shapes *)
Definition assumed : Prop :=
  (forall c, List.In c conditions -> condition_holds size_of scalar arbitrary T input c) /\
  (forall g, List.In g hypotheses -> holds size_of (power size_of scalar) (entries_of size_of scalar arbitrary T input) g).
Fixpoint shaped (ss : seq sizes_of_shape) (Xs : seq (matrix R)) : Prop := match Xs, ss with
  | X :: Xs', s :: ss' => has_shape X (sized size_of s) /\ shaped ss' Xs' | _, _ => True end.

Definition entry_indices_of (t : term) : seq index * seq index :=
  let: (rs, cs) := shape shapes t in (new_indices 1000 rs, new_indices (1000 + N.of_nat (size rs)) cs).
Definition entry_at (t u : term) : formula := let: (rs, cs) := entry_indices_of t in compile shapes u rs cs.
Definition accepts_formula (givens : nat) (l r : term) (p : argument_of_equality) : bool :=
  [&& (givens <= size known_shapes)%N, sound T shapes givens [::] l, sound T shapes givens [::] r, shape shapes l == shape shapes r
    & accepts T conditions hypotheses steps (entry_at l l, entry_at l r) p].

Lemma nth_positive (S : numDomainType) (xs : seq S) n : all (fun x => 0 < x) xs -> 0 < nth 1 xs n.
Proof. by elim: xs n => [|x xs IH] [|n] //= /andP[] // _; exact: IH. Qed.
Theorem formula_holds l r p : accepts_formula (size Ms) l r p ->
  all (fun n => 0 < n)%N ns -> all (fun c => 0 < c) cs -> shaped known_shapes Ms -> assumed ->
  same (denote size_of scalar given l) (denote size_of scalar given r).
Proof.
case/and5P => le Sl Sr /eqP E A N0 C0 shp [H1 H2].
have S0 s : (0 < size_of s)%N by rewrite /size_of; elim: ns s N0 => [|n ns' IH] [|s] //= /andP[] // _; exact: IH.
have P0 n : 0 < scalar n by exact: nth_positive.
have wf : well_formed T by case/and4P: A.
have G : agrees size_of scalar arbitrary T shapes (size Ms) input given (fun=> None) [::].
  move=> k /=; rewrite /visible /= => /andP[km]; case F: (find T k) => // _.
  have Hk : has_shape (given k) (sized size_of (shapes k)).
    rewrite /given /shapes; elim: Ms known_shapes k km le shp {F} => [|X Xs IH] [|s ss] [|k] //= km le [] //.
    by move=> _; exact: IH.
  split=> //; first by right.
  move=> i j wi wj; rewrite entries_at_input // /input.
  have := within_size wi; have [-> _] := Hk; rewrite size_map => <-.
  by rewrite take_size_cat // drop_size_cat.
have [Rl Cl] := agrees_shape G Sl; have [Rr Cr] := agrees_shape G Sr.
split; rewrite ?Rl ?Cl ?Rr ?Cr ?E // => i j wi wj.
move: A; rewrite /entry_at /entry_indices_of; case S: (shape shapes l) => [xs ys].
set rs := new_indices 1000 xs; set ms := new_indices _ ys => A.
pose e := assigned (rs ++ ms) (i ++ j) nowhere.
have wij : within (lengths size_of (rs ++ ms)) (i ++ j).
  rewrite /lengths map_cat -!/(lengths _ _) !lengths_new.
  by move: wi wj; rewrite -E S; exact: within_cat.
have eV : valid size_of e by apply: assigned_valid => //; exact: nowhere_valid.
have un : uniq (rs ++ ms).
  rewrite cat_uniq !new_uniq andbT /=; apply/hasPn => w; have [_ _ _ H] := fresh_from (1000 + N.of_nat (size xs)) [seq (0%num, n) | n <- ys].
  have [_ _ _ H'] := fresh_from 1000 [seq (0%num, n) | n <- xs]; rewrite size_map in H'.
  move=> /H [le1 _]; apply/negP => /H' [_ lt]; exact: (below_and_above lt le1).
have me : map e (rs ++ ms) = i ++ j.
  by rewrite assigned_map // (within_size wij) /lengths size_map.
have si : size i = size (map e rs).
  by rewrite size_map new_size; move: (within_size wi); rewrite -E S /= size_map.
have [ei ej] : map e rs = i /\ map e ms = j.
  move: me; rewrite map_cat => /eqP; rewrite eqseq_cat -?si // => /andP[/eqP -> /eqP ->] //.
have [_ _ V] := accepts_correct A S0 P0 H1 H2 eV.
have none (k : nat) : None <> None :> option (seq nat -> R) -> k \in ([::] : seq nat) by [].
have compiled t : sound T shapes (size Ms) [::] t -> shape shapes t = (xs, ys) ->
    formula_value size_of scalar arbitrary T input (fun=> None) e (compile shapes t rs ms) = entry (denote size_of scalar given t) i j.
  by move=> St sh; rewrite (compile_right S0 wf St G none eV) ?sh ?new_sizes // ei ej.
by rewrite -(compiled l) // -(compiled r) -?E.
Qed.
End Claims.

(* what a theorem's own premises say of lists *)
Ltac formula_premises := solve
  [ assumption
  | rewrite /=; repeat (apply/andP; split); by []
  | rewrite /=; repeat (split; [assumption|]); exact I
  | split=> ? [] ].
